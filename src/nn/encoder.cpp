#include "src/nn/encoder.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include "src/attention/recompute.hpp"
#include "src/core/error.hpp"
#include "src/core/shape.hpp"

namespace headtorch::nn {
namespace {

Norm make_norm(const EncoderLayerOptions& options) {
  return Norm(NormOptions{options.attention.d_model, options.norm_kind, options.norm_eps});
}

Edit for_layer(const LayerEdit& edit, std::int64_t layer) {
  if (!edit) return {};
  return [&edit, layer](const torch::Tensor& tensor) { return edit(layer, tensor); };
}

}  // namespace

EncoderLayerImpl::EncoderLayerImpl(const EncoderLayerOptions& options) : options_(options) {
  attention_ = register_module("attention", MultiHeadAttention(options.attention));
  norm1_ = register_module("norm1", make_norm(options));
  if (options.d_ff > 0) {
    feed_forward_ = register_module(
        "feed_forward",
        FeedForward(FeedForwardOptions{options.attention.d_model, options.d_ff, options.activation,
                                       options.dropout, options.attention.init, options.attention.bias}));
    norm2_ = register_module("norm2", make_norm(options));
  }
}

MultiHeadAttentionResult EncoderLayerImpl::forward(const torch::Tensor& x_BTD, const AttentionCall& call) {
  const auto branch = [&](const torch::Tensor& y_BTD) {
    return dropout(y_BTD, options_.dropout, is_training(), call.dropout);
  };
  const bool pre = options_.norm == NormPlace::kPre;
  MultiHeadAttentionResult result = attention_->forward(pre ? norm1_->forward(x_BTD) : x_BTD, call);
  result.y = x_BTD + branch(result.y);
  if (!pre) result.y = norm1_->forward(result.y);
  if (feed_forward_) {
    result.y =
        result.y + branch(feed_forward_->forward(pre ? norm2_->forward(result.y) : result.y, call.dropout));
    if (!pre) result.y = norm2_->forward(result.y);
  }
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
                     .dropout = context.dropout};
  const bool gated = probe != nullptr && probe->gates_LH.defined();
  if (gated) {
    check_shape("nn.encoder", "gates", probe->gates_LH.sizes(),
                {options_.n_layers, options_.layer.attention.n_heads});
  }
  const auto hand_on = [probe](std::int64_t index, torch::Tensor stream_BTD) {
    return probe != nullptr && probe->edit_stream ? probe->edit_stream(index, stream_BTD) : stream_BTD;
  };
  if (probe != nullptr) probe->patterns.clear();
  x_BTD = hand_on(-1, x_BTD);
  for (std::int64_t index = 0; index < options_.n_layers; ++index) {
    if (gated) call.gates_H = probe->gates_LH[index];
    if (probe != nullptr) {
      call.edit_pattern = for_layer(probe->edit_pattern, index);
      call.edit_heads = for_layer(probe->edit_heads, index);
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
    x_BTD = hand_on(index, std::move(y_BTD));
    if (call.keep == Keep::kPattern) probe->patterns.push_back(std::move(pattern));
  }
  return norm_ ? norm_->forward(x_BTD) : x_BTD;
}

torch::Tensor run_layer(Activations activations, const torch::nn::Module& layer, DropoutStream* dropout,
                        const std::vector<torch::Tensor>& inputs,
                        const std::function<torch::Tensor(const std::vector<torch::Tensor>&)>& f) {
  if (activations == Activations::kKept) return f(inputs);
  if (dropout == nullptr) return attention::recompute(f, inputs, layer.parameters());
  // f draws from the stream it was made with: each run starts it where the first one did.
  const DropoutStream start = *dropout;
  const auto again = [f, dropout, start](const std::vector<torch::Tensor>& given) {
    *dropout = start;
    return f(given);
  };
  return attention::recompute(again, inputs, layer.parameters());
}

EncoderLayerImpl& EncoderImpl::layer(std::int64_t index) {
  return layers_->at<EncoderLayerImpl>(static_cast<std::size_t>(index));
}

}  // namespace headtorch::nn
