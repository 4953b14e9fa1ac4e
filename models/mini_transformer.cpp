#include "models/mini_transformer.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include "src/core/error.hpp"
#include "src/core/shape.hpp"
#include "src/nn/initialisation.hpp"
#include "src/nn/linear.hpp"

namespace headtorch::models {
namespace {

nn::EncoderOptions encoder_options(const ModelOptions& options) {
  nn::EncoderOptions encoder;
  encoder.n_layers = options.n_layers;
  encoder.layer.attention.d_model = options.d_model;
  encoder.layer.attention.n_heads = options.n_heads;
  encoder.layer.attention.init = options.init;
  encoder.layer.attention.qk_gain = options.qk_gain;
  encoder.layer.attention.attention = options.attention;
  encoder.layer.d_ff = options.d_ff;
  encoder.layer.dropout = options.dropout;
  encoder.layer.norm = options.norm;
  encoder.layer.activation = options.activation;
  encoder.head_kernels = options.head_kernels;
  return encoder;
}

}  // namespace

MiniTransformerImpl::MiniTransformerImpl(const ModelOptions& options, const ModelSizes& sizes)
    : options_(options), sizes_(sizes) {
  if (sizes.n_symbols < 1 || sizes.n_classes < 1 || sizes.max_len < 1) {
    throw ConfigError("models.mini_transformer",
                      fmt::format("{} symbols, {} classes and {} positions: each must be at least 1",
                                  sizes.n_symbols, sizes.n_classes, sizes.max_len));
  }
  for (const nn::HeadKernelPlace& place : options.head_kernels) {
    if (place.kernel.family == KernelFamily::kKey && place.kernel.key >= sizes.max_len) {
      throw ConfigError("head_kernels", fmt::format("L{}H{} looks at key {}, expected 0 to {}", place.layer,
                                                    place.head, place.kernel.key, sizes.max_len - 1));
    }
  }
  const double embedding_sd = nn::embedding_sd(options.init);
  embedding_ = register_module("embedding", torch::nn::Embedding(sizes.n_symbols, options.d_model));
  torch::nn::init::normal_(embedding_->weight, 0.0, embedding_sd);
  position_ = register_module("position", nn::PositionalEncoding(nn::PositionalEncodingOptions{
                                              options.position, options.d_model, sizes.max_len, embedding_sd,
                                              options.position_norm}));
  encoder_ = register_module("encoder", nn::Encoder(encoder_options(options)));
  output_ = register_module("output", nn::make_linear(options.d_model, sizes.n_classes, options.init));
}

torch::Tensor MiniTransformerImpl::forward(const torch::Tensor& tokens_BT, const nn::Context& context) {
  check_shape("models.mini_transformer", "tokens", tokens_BT.sizes(), {kAnySize, kAnySize});
  nn::Context inner = context;
  if (options_.family == Family::kCausal) inner.mask.visibility = attention::Visibility::kCausal;
  inner.tokens_BT = tokens_BT;
  const torch::Tensor x_BTD = nn::dropout(position_->forward(embedding_->forward(tokens_BT)),
                                          options_.dropout, is_training(), context.dropout);
  return output_->forward(encoder_->forward(x_BTD, inner));
}

}  // namespace headtorch::models
