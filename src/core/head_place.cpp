#include "src/core/head_place.hpp"

#include <fmt/format.h>

namespace headtorch {

std::string head_name(const HeadPlace& place) { return fmt::format("L{}H{}", place.layer, place.head); }

}  // namespace headtorch
