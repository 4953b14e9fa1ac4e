#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include "models/options.hpp"
#include "src/nn/encoder.hpp"
#include "src/nn/positional_encoding.hpp"

// Letters: B batch, T tokens, C classes.

namespace headtorch::models {

/// Token embedding + positions -> dropout -> encoder -> linear: a label's logits at every position. Family
/// kCausal lets position t look at 0..t only and is then a language model. With a fixed score (nn::Score) in
/// place of kDot it is the same model whose learned kernel is replaced and which is else unchanged.
class MiniTransformerImpl : public torch::nn::Module {
 public:
  /// @throws ConfigError for sizes that do not fit each other.
  MiniTransformerImpl(const ModelOptions& options, const ModelSizes& sizes);

  /// @param tokens_BT int64 in 0..n_symbols-1, T <= max_len under learned positions.  @param context mask:
  /// what may be seen besides the family's rule, for example a padding_mask.  @returns [B, T, C].
  torch::Tensor forward(const torch::Tensor& tokens_BT, const nn::Context& context = {});

  nn::Encoder& encoder() { return encoder_; }
  const ModelOptions& options() const { return options_; }

 private:
  ModelOptions options_;
  ModelSizes sizes_;
  torch::nn::Embedding embedding_{nullptr};
  nn::PositionalEncoding position_{nullptr};
  nn::Encoder encoder_{nullptr};
  torch::nn::Linear output_{nullptr};
};
TORCH_MODULE(MiniTransformer);

}  // namespace headtorch::models
