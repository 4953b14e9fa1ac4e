#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <functional>
#include <map>

#include "src/attention/attend.hpp"
#include "src/nn/dropout.hpp"
#include "src/nn/options.hpp"

// Letters: B batch, T queries, S keys, D width, H heads, E = D/H.

namespace headtorch::nn {

struct MultiHeadAttentionOptions {
  std::int64_t d_model = 64;  ///< D
  std::int64_t n_heads = 4;   ///< H; must divide D
  bool bias = true;           ///< on the four projections
  Init init = Init::kXavier;
  double qk_gain = 1.0;  ///< factor on the initial query and key weights
  ScoreOptions attention = {};
  /// Heads whose weights before dropout are a kernel over what the mask allows. All parameters stay; those
  /// of their queries and keys get no gradient.
  std::map<std::int64_t, HeadKernel> head_kernels = {};
};

/// What forward keeps. Asking for the pattern costs B*H*T*S floats and changes no output.
enum class Keep { kOutput, kPattern };

/// Takes a tensor of a forward pass and gives what the pass goes on with: the same one when it only looks.
using Edit = std::function<torch::Tensor(const torch::Tensor&)>;

/// What one call is told besides its input.
struct AttentionCall {
  attention::Mask mask = {};
  Keep keep = Keep::kOutput;
  torch::Tensor tokens_BT = {};  ///< int64; needed under Score::kSameToken and by kernels of tokens only
  torch::Tensor gates_H = {};  ///< [H] factor on each head's output before they are merged; undefined: all on
  DropoutStream* dropout = nullptr;  ///< null: torch's generator
  Edit edit_pattern = {};  ///< weights [B, H, T, S] before dropout, on the graph; rules the fused path out
  Edit edit_heads = {};    ///< heads' outputs [B, H, T, E] before gates and merging
};

struct MultiHeadAttentionResult {
  torch::Tensor y;        ///< [B, T, D]
  torch::Tensor pattern;  ///< [B, H, T, S], before dropout, as edited; undefined under kOutput
};

/// y = concat_h(gate_h softmax(score(q, k) + mask) v) W_out + b_out, with q = x W_q and k, v from the memory.
/// Vaswani et al. 2017, eq. 1 and 3.2.2, arXiv:1706.03762. Under a fixed score there are no W_q and W_k.
class MultiHeadAttentionImpl : public torch::nn::Module {
 public:
  /// @throws ConfigError unless H divides D, each kernel list holds 1 or H values, and head kernels are for
  /// heads that exist.
  explicit MultiHeadAttentionImpl(const MultiHeadAttentionOptions& options);

  /// Self-attention: queries, keys and values from x.  @throws ShapeError unless the last size is D.
  MultiHeadAttentionResult forward(const torch::Tensor& x_BTD, const AttentionCall& call = {});
  /// Cross-attention: queries from x, keys and values from the memory.
  MultiHeadAttentionResult forward(const torch::Tensor& x_BTD, const torch::Tensor& memory_BSD,
                                   const AttentionCall& call = {});

  /// q.k * scale (or the fixed kernel's logarithm) before masks, broadcastable to [B, H, T, S].
  torch::Tensor scores(const torch::Tensor& x_BTD, const torch::Tensor& memory_BSD);

  /// Whether forward uses attend_fused in this mode: scaled dot products, no dropout in force, no kernels.
  bool is_fused() const;

 private:
  struct Projected {
    torch::Tensor q_BHTE, k_BHSE, v_BHSE;  // q and k undefined under a fixed score
  };
  Projected project(const torch::Tensor& x_BTD, const torch::Tensor& memory_BSD) const;
  torch::Tensor compare(const Projected& projected, const torch::Tensor& x_BTD,
                        const torch::Tensor& memory_BSD) const;
  torch::Tensor with_kernels(const torch::Tensor& pattern_BHTS, const AttentionCall& call) const;
  torch::Tensor visible(const AttentionCall& call, std::int64_t queries, std::int64_t keys,
                        torch::Device device) const;
  bool is_learned() const { return options_.attention.score == Score::kDot; }

  MultiHeadAttentionOptions options_;
  double scale_ = 1.0;
  torch::Tensor in_proj_weight_, in_proj_bias_;  // rows q, k, v; v only under a fixed score
  torch::Tensor log_scale_;                      // [H], ScaleKind::kLearned
  torch::nn::Linear out_proj_{nullptr};
};
TORCH_MODULE(MultiHeadAttention);

}  // namespace headtorch::nn
