#include "src/core/shape.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "src/core/error.hpp"

namespace headtorch {

void check_shape(std::string_view where, std::string_view name, std::span<const std::int64_t> sizes,
                 std::initializer_list<std::int64_t> expected) {
  const auto fits = [](std::int64_t size, std::int64_t want) { return want == kAnySize || size == want; };
  if (std::equal(sizes.begin(), sizes.end(), expected.begin(), expected.end(), fits)) return;
  std::vector<std::string> want;
  for (const std::int64_t size : expected) want.push_back(size == kAnySize ? "*" : std::to_string(size));
  throw ShapeError(where, fmt::format("{} has shape [{}], expected [{}]", name, fmt::join(sizes, ", "),
                                      fmt::join(want, ", ")));
}

}  // namespace headtorch
