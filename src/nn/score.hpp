#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "src/attention/masks.hpp"
#include "src/attention/piece.hpp"
#include "src/nn/options.hpp"

// Letters: B batch, H heads, T queries, S keys, E features a head, D width.

namespace headtorch::nn {

/// What a score is computed from: a piece of the attention matrix.
struct ScoreInput {
  torch::Tensor q, k;       ///< as compares(Score) says, of the piece's queries and keys
  torch::Tensor tokens_BS;  ///< int64, of all keys of the sequence; may be undefined
  torch::Tensor rows_BSF;   ///< numbers by which positions are alike, of all keys; may be undefined
  attention::Piece piece = {};
  torch::TensorOptions options = {};  ///< of what is returned
};

/// Turns queries and keys into what the softmax is taken of. One subclass a score, each in a file of its own
/// and a row of scores.def.
class ScoreFunction : public torch::nn::Module {
 public:
  /// @returns broadcastable to [B, H, T, S].
  virtual torch::Tensor forward(const ScoreInput& input) = 0;
  /// Keys that it looks at, besides the mask; undefined: all. @returns bool, broadcastable to [B, H, T, S].
  virtual torch::Tensor allowed(const ScoreInput&) const { return {}; }
  /// Its number s when it is s q.k and nothing else: LibTorch's fused attention may take its place.
  virtual std::optional<double> dot_scale() const { return std::nullopt; }
  /// Whether it can attend under this mask in O(T), without weights.
  virtual bool attends(const attention::Mask&) const { return false; }
  /// Heads' outputs [B, H, T, V] where attends() holds; equal to the softmax of forward() times the values.
  virtual torch::Tensor attend(const torch::Tensor& /*q_BHTE*/, const torch::Tensor& /*k_BHSE*/,
                               const torch::Tensor& /*v_BHSV*/, const attention::Mask&) {
    return {};
  }
};

struct ScoreSizes {
  std::int64_t d_model = 0, n_heads = 0, head_width = 0;
};

/// @throws ConfigError for a kernel list that is not of one value or one a head.
std::shared_ptr<ScoreFunction> make_score(const ScoreOptions& options, const ScoreSizes& sizes);

#define HEADTORCH_SCORE(id, name, compares, make) \
  std::shared_ptr<ScoreFunction> make(const ScoreOptions& options, const ScoreSizes& sizes);
#include "src/nn/scores.def"
#undef HEADTORCH_SCORE

}  // namespace headtorch::nn
