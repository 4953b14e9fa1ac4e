#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/core/head_place.hpp"

namespace headtorch {

/// What rounding does to weights: within this of 0..1, and rows within this of 1 (float16, bfloat16 and three
/// decimals stay below; dropout does not).
inline constexpr double kWeightTolerance = 1e-5, kRowSumTolerance = 0.01;

/// The weights of one layer, before dropout. Rows are queries, columns are keys, both from 0.
struct LayerWeights {
  std::int64_t samples = 0, heads = 0, queries = 0, keys = 0;
  std::vector<float> values;  ///< [samples, heads, queries, keys], row-major
  Stack stack = Stack::kSelf;
  std::int64_t layer = 0;  ///< within its stack

  /// One head's [queries, keys].
  std::span<const float> head(std::int64_t sample, std::int64_t index) const {
    const std::int64_t size = queries * keys;
    return std::span(values).subspan(static_cast<std::size_t>((sample * heads + index) * size),
                                     static_cast<std::size_t>(size));
  }
};

/// What the positions of one sequence hold, for each sample.
struct SequenceLabels {
  std::vector<std::vector<std::string>> tokens;  ///< [samples][position], as shown to people
  std::vector<std::vector<std::int64_t>> ids;    ///< [samples][position]: equal tokens have equal ids
  std::vector<std::int64_t> lengths;  ///< [samples], positions before the padding; empty: no padding
};

/// The image that some positions are patches of: square ones, row by row, from position `first` on.
struct PatchedImage {
  std::int64_t rows = 0, columns = 0;  ///< patches; 0: no image
  std::int64_t patch = 0;              ///< side of a patch, pixels
  std::int64_t first = 0;
  std::vector<std::vector<float>> pixels = {};  ///< [samples], row by row, 0 to 1

  bool has(std::int64_t position) const { return position >= first && position < first + rows * columns; }
};

/// The weights of every head of a model on a few inputs, at one moment of training.
struct AttentionMaps : SequenceLabels {
  std::string task;
  std::int64_t step = 0;     ///< optimizer steps taken
  bool causal = false;       ///< Stack::kSelf: no query sees a key after it (a decoder never does)
  std::int64_t window = -1;  ///< in self-attention no query sees a key further off; -1: no window
  /// Token ids that are never seen as keys; in an encoder-decoder those of the source, in the encoder and in
  /// cross-attention.
  std::vector<std::int64_t> hidden = {};
  SequenceLabels source = {};  ///< of an encoder's positions beside a decoder; the base is the decoder's then
  PatchedImage image = {};     ///< of the source where there is one, else of the base
  std::vector<LayerWeights> layers = {};  ///< from the input upwards: encoder, decoder, cross
};

/// What the rows, and the columns, of a stack's weights stand for.
const SequenceLabels& query_labels(const AttentionMaps& maps, Stack stack);
const SequenceLabels& key_labels(const AttentionMaps& maps, Stack stack);

/// The image whose patches stand among the rows, or the columns, of a stack's weights; none where there are
/// none.
const PatchedImage* query_image(const AttentionMaps& maps, Stack stack);
const PatchedImage* key_image(const AttentionMaps& maps, Stack stack);

/// Where in `maps.layers` a head's layer stands; none when the layer, or the head in it, is not there.
std::optional<std::size_t> find_layer(const AttentionMaps& maps, const HeadPlace& head);

/// Ids for tokens of which only the text is known: the position at which the same text first stands.
std::vector<std::int64_t> token_ids(std::span<const std::string> tokens);

}  // namespace headtorch
