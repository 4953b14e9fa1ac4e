#pragma once

#include "src/core/attention_maps.hpp"

namespace headtorch::probe {

/// How sharp the heads of a model are: means over rows with at least two visible keys. NaN where there are
/// none, or a weight is not finite.
struct Saturation {
  double entropy_normalised = 0.0;  ///< H / ln(visible keys)
  double saturated = 0.0;           ///< share of rows whose largest weight is above kSaturated
};
Saturation saturation(const AttentionMaps& maps);

}  // namespace headtorch::probe
