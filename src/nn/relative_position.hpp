#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>

#include "src/attention/piece.hpp"
#include "src/nn/options.hpp"

// Letters: B batch, H heads, T queries, S keys, E features a head.

namespace headtorch::nn {

/// A position that acts inside self-attention, on queries and keys or as a bias on scores. One subclass a
/// position, each in a file of its own and a row of positions.def.
class RelativePosition : public torch::nn::Module {
 public:
  /// Queries or keys at positions first .. first+T-1.
  virtual torch::Tensor turn(const torch::Tensor& x_BHTE, std::int64_t /*first*/) const { return x_BHTE; }
  /// Added to scores: broadcastable to [B, H, T, S].  @param q_BHTE of the piece's queries.
  virtual torch::Tensor bias(const torch::Tensor& /*q_BHTE*/, const attention::Piece&) { return {}; }
};

struct PositionSizes {
  std::int64_t n_heads = 0, head_width = 0;
};

/// Null for positions that are added to the embedding, and for none.  @throws ConfigError for rope on heads
/// of one feature.
std::shared_ptr<RelativePosition> make_relative_position(Position position, const PositionSizes& sizes);

#define HEADTORCH_POSITION(id, name, acts, make) \
  std::shared_ptr<RelativePosition> make(const PositionSizes& sizes);
#include "src/nn/positions.def"
#undef HEADTORCH_POSITION

}  // namespace headtorch::nn
