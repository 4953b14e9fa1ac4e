#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/pimpl.h>

#include <vector>

#include "src/nn/feed_forward.hpp"
#include "src/nn/multi_head_attention.hpp"
#include "src/nn/norm.hpp"

// Letters: B batch, T tokens, D width, L layers, H heads.

namespace headtorch::nn {

struct EncoderLayerOptions {
  MultiHeadAttentionOptions attention = {};  ///< d_model, heads, bias, init, scores
  std::int64_t d_ff = 256;                   ///< 0: attention only
  double dropout = 0.1;                      ///< on both residual branches and inside the feed-forward
  NormPlace norm = NormPlace::kPre;
  NormKind norm_kind = NormKind::kLayer;
  double norm_eps = 1e-5;
  Activation activation = Activation::kGelu;
};

/// Pre-norm: x + f(LN(x)) for attention, then feed-forward (Xiong et al. 2020, arXiv:2002.04745); post-norm:
/// LN(x + f(x)) (Vaswani et al. 2017, 3.1).
class EncoderLayerImpl : public torch::nn::Module {
 public:
  explicit EncoderLayerImpl(const EncoderLayerOptions& options);
  MultiHeadAttentionResult forward(const torch::Tensor& x_BTD, const AttentionCall& call = {});

  MultiHeadAttention& attention() { return attention_; }

 private:
  EncoderLayerOptions options_;
  MultiHeadAttention attention_{nullptr};
  FeedForward feed_forward_{nullptr};
  Norm norm1_{nullptr}, norm2_{nullptr};
};
TORCH_MODULE(EncoderLayer);

/// As Edit, told the layer.
using LayerEdit = std::function<torch::Tensor(std::int64_t layer, const torch::Tensor&)>;

/// Looks into one forward pass, or changes heads in it.
struct HeadProbe {
  Keep keep = Keep::kPattern;
  torch::Tensor gates_LH;  ///< [L, H] factor on each head's output; undefined: all on
  LayerEdit edit_pattern;  ///< weights [B, H, T, T] before dropout, on the graph; rules the fused path out
  LayerEdit edit_heads;    ///< heads' outputs [B, H, T, E] before gates and merging
  LayerEdit edit_stream;   ///< what layers hand on, [B, T, D]: -1 is the first layer's input, l what l gives
  std::vector<torch::Tensor>
      patterns;  ///< filled under kPattern: a [B, H, T, T] for each layer, from the input up
};

/// What a forward pass is told besides its input.
struct Context {
  attention::Mask mask;
  torch::Tensor
      tokens_BS;  ///< int64, of all keys; needed under Score::kSameToken and by kernels of tokens only
  DropoutStream* dropout = nullptr;         ///< null: torch's generator
  HeadProbe* probe = nullptr;               ///< null: nothing is kept
  std::vector<KeyValues>* cache = nullptr;  ///< one a layer: x then stands behind what is cached
  torch::Tensor rows_BSF = {};  ///< floating, of all keys; needed under Score::kFeatureGaussian only
};

/// Whether a layer keeps what its backward needs, or computes it again (Chen et al. 2016, arXiv:1604.06174).
enum class Activations { kKept, kRecomputed };

struct EncoderOptions {
  EncoderLayerOptions layer = {};  ///< the same for all, but for head_kernels
  std::int64_t n_layers = 2;
  std::vector<HeadKernelPlace> head_kernels = {};
  Activations activations = Activations::kKept;
};

/// L layers; a last LayerNorm when they are pre-norm.
class EncoderImpl : public torch::nn::Module {
 public:
  /// @throws ConfigError for a head kernel that has no layer or head, or has one already.
  explicit EncoderImpl(const EncoderOptions& options);
  /// @throws ShapeError unless the last size of x is D, gates are [L, H] and a cache has L entries.
  torch::Tensor forward(torch::Tensor x_BTD, const Context& context = {});

  EncoderLayerImpl& layer(std::int64_t index);

 private:
  EncoderOptions options_;
  torch::nn::ModuleList layers_;
  Norm norm_{nullptr};
};
TORCH_MODULE(Encoder);

}  // namespace headtorch::nn
