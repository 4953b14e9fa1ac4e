#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace headtorch {

/// One head of a model; both count from 0, layers from the input upwards.
struct HeadPlace {
  std::int64_t layer = 0, head = 0;
  auto operator<=>(const HeadPlace&) const = default;
};

/// "L0H1".
std::string head_name(const HeadPlace& place);

}  // namespace headtorch
