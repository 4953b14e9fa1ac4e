#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "src/core/attention_maps.hpp"
#include "src/core/head_kernel.hpp"

namespace headtorch::probe {

struct LayerShape {
  std::int64_t heads = 0, queries = 0, keys = 0;
  Stack stack = Stack::kSelf;
  std::int64_t layer = 0;  ///< within its stack

  /// Queries and keys are the same positions.
  bool is_self() const { return stack != Stack::kCross && queries == keys; }
  bool operator==(const LayerShape&) const = default;
};
LayerShape shape_of(const LayerWeights& layer);

/// Which keys the queries of one input may look at. In cross-attention all but padding and hidden tokens.
Sight sight_of(const AttentionMaps& maps, std::size_t sample, const LayerShape& shape);

/// Where an input's tokens stand. Equal tokens share one list.
class TokenPlaces {
 public:
  TokenPlaces() = default;
  explicit TokenPlaces(std::span<const std::int64_t> ids);

  bool known() const { return !places_.empty(); }
  /// Positions that hold the token of `position`, ascending.
  std::span<const std::int64_t> same(std::int64_t position) const;
  /// Those before it.
  std::span<const std::int64_t> earlier(std::int64_t position) const;

 private:
  std::vector<std::vector<std::int64_t>> places_;   // by token
  std::vector<std::size_t> token_, earlier_count_;  // by position
};

/// What all heads of a layer share of one recorded input.
struct RecordedInput {
  Sight sight;
  std::int64_t rows = 0;  ///< queries before the padding
  TokenPlaces tokens;     ///< not known in cross-attention
  /// Place of the last token when it is an end token ("</s>", "<eos>", "<end>", "[SEP]", "<|endoftext|>").
  std::optional<std::int64_t> end_token;
};

/// Shape of each layer, as `maps.layers`.  @throws ShapeError when the parts of `maps` do not fit each other.
std::vector<LayerShape> checked_shapes(const AttentionMaps& maps);

/// [samples]. Tokens without ids are compared by their text.
std::vector<RecordedInput> recorded_inputs(const AttentionMaps& maps, const LayerShape& shape);

/// @param layer in `maps.layers`.  @throws ConfigError naming layer, head, input and place of a weight that
/// is not finite or not within 0..1, of a row that does not sum to one (a row of zeros sees nothing and is
/// allowed), or of a weight on a key that the row may not see.
void check_weights(const AttentionMaps& maps, std::size_t layer, std::int64_t head,
                   const std::vector<RecordedInput>& inputs);

/// One row as read_row gives it.
struct SeenRow {
  std::int64_t query = 0, visible = 0;  ///< which row, and how many keys it sees
  std::span<const double> weights;      ///< up to sight.stop(query), by key from 0
};

/// Copies one row up to sight.stop(query), zero on the keys that it does not see, divided by its sum.
/// @returns how many keys it sees; 0, and no row, for a row of zeros.
std::int64_t read_row(std::span<const float> head, std::int64_t keys, std::int64_t query, const Sight& sight,
                      std::vector<double>& row);

}  // namespace headtorch::probe
