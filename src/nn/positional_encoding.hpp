#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "src/nn/norm.hpp"
#include "src/nn/options.hpp"

namespace headtorch::nn {

struct PositionalEncodingOptions {
  Position position = Position::kLearned;
  std::int64_t d_model = 64;
  std::int64_t max_len = 512;  ///< rows of the learned table; the sinusoidal code has no end
  double embedding_sd = 1.0;   ///< root mean square of what the code is added to; the code gets the same
  bool norm = false;           ///< LayerNorm after the sum
};

/// Sinusoidal code [T, D] at positions first..first+T-1: channel c is sin (c even) or cos (c odd) of
/// pos / 10000^(2 floor(c/2) / D); any D, odd too.  Vaswani et al. 2017, 3.5.
torch::Tensor sinusoidal_positions(std::int64_t first, std::int64_t length, std::int64_t d_model,
                                   const torch::TensorOptions& options = {});

/// x + position code.  Letters: B batch, T tokens, D width.
class PositionalEncodingImpl : public torch::nn::Module {
 public:
  explicit PositionalEncodingImpl(const PositionalEncodingOptions& options);
  /// @param x_BTD  @param first position of the first token.
  /// @throws ShapeError unless the last size is D and first >= 0, and when a learned table is too short
  /// (naming both numbers).
  torch::Tensor forward(const torch::Tensor& x_BTD, std::int64_t first = 0);

 private:
  PositionalEncodingOptions options_;
  torch::Tensor table_;  // [max_len, D], learned only
  Norm norm_{nullptr};
};
TORCH_MODULE(PositionalEncoding);

}  // namespace headtorch::nn
