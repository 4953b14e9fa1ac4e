#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace headtorch {

/// What rounding does to weights: within this of 0..1, and rows within this of 1 (float16, bfloat16 and three
/// decimals stay below; dropout does not).
inline constexpr double kWeightTolerance = 1e-5, kRowSumTolerance = 0.01;

/// The weights of one layer, before dropout. Rows are queries, columns are keys, both from 0.
struct LayerWeights {
  std::int64_t samples = 0, heads = 0, queries = 0, keys = 0;
  std::vector<float> values;  ///< [samples, heads, queries, keys], row-major

  /// One head's [queries, keys].
  std::span<const float> head(std::int64_t sample, std::int64_t index) const {
    const std::int64_t size = queries * keys;
    return std::span(values).subspan(static_cast<std::size_t>((sample * heads + index) * size),
                                     static_cast<std::size_t>(size));
  }
};

/// The weights of every head of a model on a few inputs, at one moment of training.
struct AttentionMaps {
  std::string task;
  std::int64_t step = 0;                         ///< optimizer steps taken
  std::vector<std::vector<std::string>> tokens;  ///< [samples][position], as shown to people
  std::vector<std::vector<std::int64_t>> ids;    ///< [samples][position]: equal tokens have equal ids
  bool causal = false;                           ///< no query sees a key after it
  std::vector<std::int64_t> lengths;  ///< [samples], positions before the padding; empty: no padding
  std::vector<LayerWeights> layers;   ///< from the input upwards
};

/// Ids for tokens of which only the text is known: the position at which the same text first stands.
std::vector<std::int64_t> token_ids(std::span<const std::string> tokens);

}  // namespace headtorch
