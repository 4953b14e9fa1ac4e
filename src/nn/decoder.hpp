#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/pimpl.h>

#include <vector>

#include "src/nn/encoder.hpp"

// Letters: B batch, T target tokens, S source tokens, D width, L layers, H heads.

namespace headtorch::nn {

/// What one layer of a decoder attends with.
struct DecoderCalls {
  AttentionCall self, cross;
};

struct DecoderLayerResult {
  torch::Tensor y;                            ///< [B, T, D]
  torch::Tensor self_pattern, cross_pattern;  ///< [B, H, T, T] and [B, H, T, S]; undefined under kOutput
};

/// Self-attention, attention to the memory, feed-forward, each a residual branch.  Vaswani et al. 2017, 3.1.
class DecoderLayerImpl : public torch::nn::Module {
 public:
  /// @param cross  heads of the attention to the memory whose weights are kernels.
  DecoderLayerImpl(const EncoderLayerOptions& options, std::map<std::int64_t, HeadKernel> cross = {});
  DecoderLayerResult forward(const torch::Tensor& x_BTD, const torch::Tensor& memory_BSD,
                             const DecoderCalls& calls);

  MultiHeadAttention& attention() { return attention_; }
  MultiHeadAttention& cross() { return cross_; }

 private:
  EncoderLayerOptions options_;
  MultiHeadAttention attention_{nullptr}, cross_{nullptr};
  FeedForward feed_forward_{nullptr};
  Norm norm1_{nullptr}, norm2_{nullptr}, norm3_{nullptr};
};
TORCH_MODULE(DecoderLayer);

/// What a forward pass of a decoder is told besides its inputs. The probe's places are the L layers of
/// self-attention, then the L of cross-attention; its edit_stream gets -1 and 0 .. L-1.
struct DecoderContext {
  attention::Mask mask;         ///< of self-attention: [*, *, T, T]
  attention::Mask memory_mask;  ///< of cross-attention: [*, *, T, S]
  torch::Tensor tokens_BS;      ///< of the target, all keys
  DropoutStream* dropout = nullptr;
  HeadProbe* probe = nullptr;
  std::vector<KeyValues>*self_cache = nullptr, *cross_cache = nullptr;
};

/// L layers; a last norm when they are pre-norm.
class DecoderImpl : public torch::nn::Module {
 public:
  /// head_kernels: those of Stack::kDecoder and kCross.  @throws ConfigError as Encoder, and for scores that
  /// need queries and keys to be the same sequence (cross-attention has none such).
  explicit DecoderImpl(const EncoderOptions& options);
  /// @throws ShapeError unless the last sizes are D and gates are [2L, H].
  torch::Tensor forward(torch::Tensor x_BTD, const torch::Tensor& memory_BSD, const DecoderContext& context);

  DecoderLayerImpl& layer(std::int64_t index);

 private:
  EncoderOptions options_;
  torch::nn::ModuleList layers_;
  Norm norm_{nullptr};
};
TORCH_MODULE(Decoder);

}  // namespace headtorch::nn
