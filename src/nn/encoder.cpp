#include "src/nn/encoder.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include "src/core/error.hpp"
#include "src/core/shape.hpp"
#include "src/nn/layer_parts.hpp"

namespace headtorch::nn {

EncoderLayerImpl::EncoderLayerImpl(const EncoderLayerOptions& options) : options_(options) {
  attention_ = register_module("attention", MultiHeadAttention(options.attention));
  norm1_ = register_module("norm1", make_norm(options));
  if (options.d_ff == 0) return;
  feed_forward_ = register_module("feed_forward", make_feed_forward(options));
  norm2_ = register_module("norm2", make_norm(options));
}

MultiHeadAttentionResult EncoderLayerImpl::forward(const torch::Tensor& x_BTD, const AttentionCall& call) {
  const Residual add{options_.norm, options_.dropout, is_training(), call.dropout};
  MultiHeadAttentionResult result;
  torch::Tensor y_BTD = add(norm1_, x_BTD, [&](const torch::Tensor& x) {
    result = attention_->forward(x, call);
    return result.y;
  });
  if (feed_forward_) {
    y_BTD =
        add(norm2_, y_BTD, [&](const torch::Tensor& x) { return feed_forward_->forward(x, call.dropout); });
  }
  result.y = y_BTD;
  return result;
}

EncoderImpl::EncoderImpl(const EncoderOptions& options) : options_(options) {
  layers_ = register_module("layers", torch::nn::ModuleList());
  std::vector<EncoderLayerOptions> layers(static_cast<std::size_t>(options.n_layers), options.layer);
  for (const HeadKernelPlace& place : options.head_kernels) {
    if (place.layer < 0 || place.layer >= options.n_layers) {
      throw ConfigError("nn.encoder", fmt::format("a head kernel for layer {}, expected 0 to {}", place.layer,
                                                  options.n_layers - 1));
    }
    auto& kernels = layers[static_cast<std::size_t>(place.layer)].attention.head_kernels;
    if (!kernels.emplace(place.head, place.kernel).second) {
      throw ConfigError("nn.encoder", fmt::format("two kernels for head {} of layer {}, expected one",
                                                  place.head, place.layer));
    }
  }
  for (const EncoderLayerOptions& layer : layers) layers_->push_back(EncoderLayer(layer));
  if (options.layer.norm == NormPlace::kPre) norm_ = register_module("norm", make_norm(options.layer));
}

torch::Tensor EncoderImpl::forward(torch::Tensor x_BTD, const Context& context) {
  check_shape("nn.encoder", "x", x_BTD.sizes(), {kAnySize, kAnySize, options_.layer.attention.d_model});
  HeadProbe* probe = context.probe;
  AttentionCall call{.mask = context.mask,
                     .keep = probe == nullptr ? Keep::kOutput : probe->keep,
                     .tokens_BS = context.tokens_BS,
                     .dropout = context.dropout,
                     .rows_BSF = context.rows_BSF};
  const bool gated = probe != nullptr && probe->gates_LH.defined();
  if (gated) {
    check_shape("nn.encoder", "gates", probe->gates_LH.sizes(),
                {options_.n_layers, options_.layer.attention.n_heads});
  }
  if (probe != nullptr) probe->patterns.clear();
  x_BTD = hand_on(probe, -1, x_BTD);
  for (std::int64_t index = 0; index < options_.n_layers; ++index) {
    if (gated) call.gates_H = probe->gates_LH[index];
    if (probe != nullptr) {
      call.edit_pattern = for_place(probe->edit_pattern, index);
      call.edit_heads = for_place(probe->edit_heads, index);
    }
    if (context.cache != nullptr) call.cache = &context.cache->at(static_cast<std::size_t>(index));
    const Activations activations =
        probe == nullptr && is_training() ? options_.activations : Activations::kKept;
    torch::Tensor pattern;
    torch::Tensor y_BTD = run_layer(activations, layer(index), context.dropout, {x_BTD},
                                    [this, index, call, &pattern](const std::vector<torch::Tensor>& inputs) {
                                      MultiHeadAttentionResult result = layer(index).forward(inputs[0], call);
                                      if (call.keep == Keep::kPattern) pattern = std::move(result.pattern);
                                      return result.y;
                                    });
    x_BTD = hand_on(probe, index, std::move(y_BTD));
    if (call.keep == Keep::kPattern) probe->patterns.push_back(std::move(pattern));
  }
  return norm_ ? norm_->forward(x_BTD) : x_BTD;
}

EncoderLayerImpl& EncoderImpl::layer(std::int64_t index) {
  return layers_->at<EncoderLayerImpl>(static_cast<std::size_t>(index));
}

}  // namespace headtorch::nn
