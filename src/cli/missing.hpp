#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "src/table/table.hpp"

namespace headtorch::cli {

/// Values of --missing.
inline constexpr std::array<std::pair<std::string_view, table::Missing>, 2> kMissing = {
    {{"refuse", table::Missing::kRefuse}, {"drop", table::Missing::kDrop}}};

}  // namespace headtorch::cli
