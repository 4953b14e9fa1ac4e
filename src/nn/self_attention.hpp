#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include "src/attention/attend.hpp"
#include "src/nn/options.hpp"

// Letters: B batch, T tokens, D input width, E = d_k, V = d_v.

namespace headtorch::nn {

struct SelfAttentionOptions {
  std::int64_t d_model = 64;  ///< D
  std::int64_t d_k = 64;      ///< E, features of queries and keys
  std::int64_t d_v = 64;      ///< V, features of values
  bool bias = false;
  Init init = Init::kXavier;
};

struct SelfAttentionResult {
  torch::Tensor y;        ///< [B, T, V]
  torch::Tensor pattern;  ///< [B, T, T]
};

/// One head and nothing else: y = softmax(q k^T / sqrt(E) + mask) v, with q, k, v linear in x. The smallest
/// attention there is, and always the readable path.  Vaswani et al. 2017, eq. 1.
class SelfAttentionImpl : public torch::nn::Module {
 public:
  explicit SelfAttentionImpl(const SelfAttentionOptions& options);
  /// @throws ShapeError unless the last size is D.
  SelfAttentionResult forward(const torch::Tensor& x_BTD, const attention::Mask& mask = {});

 private:
  SelfAttentionOptions options_;
  torch::nn::Linear query_{nullptr}, key_{nullptr}, value_{nullptr};
};
TORCH_MODULE(SelfAttention);

}  // namespace headtorch::nn
