#pragma once

#include <cstdint>
#include <vector>

#include "src/core/attention_maps.hpp"

namespace headtorch::probe {

/// Attention rollout of one input: the product over layers, the top one leftmost, of (mean over heads A + I)
/// with rows divided by their sums (Abnar and Zuidema 2020, arXiv:2005.00928). Row i says how much of each
/// input position is in the stack's output at i, if mixing were all that layers do. Of an encoder-decoder:
/// the encoder's or the decoder's attention to itself; what cross-attention brings in is left out.
/// @returns [T, T]; rows of padding are those of I.
/// @throws ShapeError for a sample that is not there, a stack without layers, or layers that are not square
/// and alike, as in cross-attention.
std::vector<double> rollout(const AttentionMaps& maps, std::int64_t sample, Stack stack = Stack::kSelf);

}  // namespace headtorch::probe
