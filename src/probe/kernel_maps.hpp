#pragma once

#include <vector>

#include "src/core/attention_maps.hpp"
#include "src/probe/head_report.hpp"

namespace headtorch::probe {

/// The weights that each head's nearest kernel gives on the inputs of `maps`: what to draw beside them. Heads
/// without a report stay zero.  @throws ConfigError when a report names a head that is not there.
AttentionMaps kernel_maps(const AttentionMaps& maps, const std::vector<HeadReport>& heads);

/// How sharply a head decides on each input: mean over rows of KL(A || uniform), in nats, a row weighted by
/// its importance (one value a query; empty: all alike). Zero where no row sees two keys.
/// @throws ConfigError for a head that is not there.
std::vector<double> strengths(const AttentionMaps& maps, const HeadPlace& head,
                              const std::vector<double>& row_importance);

}  // namespace headtorch::probe
