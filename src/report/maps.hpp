#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/core/attention_maps.hpp"

namespace headtorch::report {

/// Which part of the maps is meant; all count from 0.
struct Selection {
  std::int64_t layer = 0;  ///< in AttentionMaps::layers
  std::int64_t head = 0;
  std::int64_t sample = 0;
};

/// The layer chosen, checked. `head` is checked too: pass 0 when all heads are meant.
/// @throws ConfigError naming what is outside its range; ShapeError when sizes are not positive or do not fit
/// the values.
const LayerWeights& select(const AttentionMaps& maps, const Selection& selection);

/// What a person must know of one head beside its colours.
struct HeadSummary {
  double entropy = 0.0;  ///< nats: mean over rows of -sum_j w_j ln w_j; NaN when no row can be used
  double largest = 0.0;  ///< largest finite weight
  std::vector<std::int64_t> blind;  ///< rows of zeros: queries that see nothing; not in the entropy
  std::int64_t not_numbers = 0;     ///< cells that are NaN or infinite; their rows are not in the entropy
  std::int64_t outside = 0;         ///< finite cells outside 0..1 by more than 1e-5, which no softmax gives
};
HeadSummary summarise(std::span<const float> weights, std::int64_t queries, std::int64_t keys);

/// The tokens at the two axes, as they are; in cross-attention those of the target and of the source. Patches
/// of an image are "r0c1": row, column. When queries are fewer than tokens they are the last ones, as with a
/// cache; positions that have no token are numbered.
struct AxisTokens {
  std::vector<std::string> query, key;
};
std::vector<std::string> with_patches(std::vector<std::string> tokens, const PatchedImage* image);
AxisTokens axis_tokens(const AttentionMaps& maps, const Selection& selection);

}  // namespace headtorch::report
