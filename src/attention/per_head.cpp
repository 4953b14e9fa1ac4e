#include "src/attention/per_head.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "src/core/error.hpp"

namespace headtorch::attention {

at::Tensor per_head(std::string_view where, std::string_view name, const std::vector<double>& values,
                    std::int64_t n_heads, const at::TensorOptions& options) {
  const auto count = static_cast<std::int64_t>(values.size());
  if (count != 1 && count != n_heads) {
    throw ConfigError(
        where, fmt::format("{} has {} values, expected 1 or one for each of {} heads", name, count, n_heads));
  }
  // Number by number: a copy of all from the host would make it wait for a GPU.
  std::vector<at::Tensor> of_heads;
  for (const double value : values) of_heads.push_back(at::full({1, 1, 1}, value, options));
  return at::cat(of_heads);
}

}  // namespace headtorch::attention
