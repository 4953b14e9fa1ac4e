#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <functional>
#include <map>
#include <memory>

#include "src/attention/attend.hpp"
#include "src/attention/piece.hpp"
#include "src/nn/dropout.hpp"
#include "src/nn/norm.hpp"
#include "src/nn/options.hpp"
#include "src/nn/path.hpp"
#include "src/nn/relative_position.hpp"
#include "src/nn/score.hpp"

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

/// What one layer remembers of the positions so far, so that the next ones need not compute it again. In
/// cross-attention: of the memory, once.
struct KeyValues {
  torch::Tensor k, v_BHSE;  ///< k as Compares says; undefined before the first call
};

/// What one call is told besides its input.
struct AttentionCall {
  attention::Mask mask = {};
  Keep keep = Keep::kOutput;
  torch::Tensor tokens_BS =
      {};  ///< int64, of all keys; needed under Score::kSameToken and by kernels of tokens
  torch::Tensor gates_H = {};  ///< [H] factor on each head's output before they are merged; undefined: all on
  DropoutStream* dropout = nullptr;  ///< null: torch's generator
  Edit edit_pattern = {};  ///< weights [B, H, T, S] before dropout, on the graph; they are then written out
  Edit edit_heads = {};    ///< heads' outputs [B, H, T, E] before gates and merging
  KeyValues* cache = nullptr;    ///< read and added to; the mask is then over all keys. For evaluation only
  std::int64_t first_query = 0;  ///< position of the first query, in cross-attention
  torch::Tensor rows_BSF = {};   ///< floating, of all keys; needed under Score::kFeatureGaussian
};

struct MultiHeadAttentionResult {
  torch::Tensor y;        ///< [B, T, D]
  torch::Tensor pattern;  ///< [B, H, T, S], before dropout, as edited; undefined under kOutput
};

/// y = concat_h(gate_h softmax(score(q, k) + bias + mask) v) W_out + b_out, with q = x W_q and k, v from the
/// memory. Vaswani et al. 2017, eq. 1 and 3.2.2, arXiv:1706.03762. Without Compares::kProjections there are
/// no W_q and W_k.
class MultiHeadAttentionImpl : public torch::nn::Module {
 public:
  /// @throws ConfigError unless H divides D, each kernel list holds 1 or H values, head kernels are for heads
  /// that exist, and a linear score has no bias added to it.
  explicit MultiHeadAttentionImpl(const MultiHeadAttentionOptions& options);

  /// Self-attention: queries, keys and values from x, which under a cache stands behind what is cached.
  /// @throws ShapeError unless the last size is D.
  MultiHeadAttentionResult forward(const torch::Tensor& x_BTD, const AttentionCall& call = {});
  /// Cross-attention: queries from x, keys and values from the memory (under a cache that holds them:
  /// unread).
  /// @throws ConfigError with a position that acts inside self-attention.
  MultiHeadAttentionResult forward(const torch::Tensor& x_BTD, const torch::Tensor& memory_BSD,
                                   const AttentionCall& call = {});

  /// The scores with their bias before masks, broadcastable to [B, H, T, S].
  torch::Tensor scores(const torch::Tensor& x_BTD, const torch::Tensor& memory_BSD);

  /// How a call that keeps no weights and edits nothing attends in this mode.
  Path path(const attention::Mask& mask, std::int64_t batch, std::int64_t queries, std::int64_t keys) const;

  bool has_projections() const { return is_learned(options_.attention.score); }

 private:
  struct Projected {
    torch::Tensor q, k, v_BHSE;   // q and k as Compares says
    attention::Piece piece = {};  // queries as the last of all keys, for masks
    std::int64_t shift = 0;       // what their positions are more than that, in cross-attention

    attention::Piece positions() const;
  };
  Projected project(const torch::Tensor& x_BTD, const torch::Tensor& memory_BSD) const;
  torch::Tensor queries_of(const torch::Tensor& x_BTD) const;
  torch::Tensor heads_of(const torch::Tensor& input_BTD, std::int64_t part) const;
  void turn(Projected& projected, std::int64_t first) const;
  MultiHeadAttentionResult attend(const Projected& projected, const AttentionCall& call);
  torch::Tensor written_out(const Projected& projected, const AttentionCall& call, torch::Tensor* pattern);
  torch::Tensor in_blocks(const Projected& projected, const AttentionCall& call);
  ScoreInput score_input(const Projected& projected, const AttentionCall& call) const;
  torch::Tensor compare(const ScoreInput& input);
  torch::Tensor visible(const Projected& projected, const AttentionCall& call, const ScoreInput& input) const;
  torch::Tensor with_kernels(const torch::Tensor& pattern_BHTS, const Projected& projected,
                             const AttentionCall& call) const;
  bool drops() const;

  MultiHeadAttentionOptions options_;
  std::shared_ptr<ScoreFunction> score_;
  std::shared_ptr<RelativePosition> position_;   // null: none inside
  torch::Tensor in_proj_weight_, in_proj_bias_;  // rows q, k, v; v only without projections
  Norm q_norm_{nullptr}, k_norm_{nullptr};       // over E
  torch::nn::Linear out_proj_{nullptr};
};
TORCH_MODULE(MultiHeadAttention);

}  // namespace headtorch::nn
