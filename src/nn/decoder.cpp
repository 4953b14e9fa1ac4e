#include "src/nn/decoder.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include <utility>

#include "src/core/error.hpp"
#include "src/core/shape.hpp"
#include "src/nn/layer_parts.hpp"

namespace headtorch::nn {
namespace {

/// Positions of two sequences do not compare, and nothing is its own position.
MultiHeadAttentionOptions cross_options(MultiHeadAttentionOptions options,
                                        std::map<std::int64_t, HeadKernel> head_kernels) {
  const Score score = options.attention.score;
  if (is_of_one_sequence(score)) {
    throw ConfigError(
        "nn.decoder",
        fmt::format("score {} in an encoder-decoder, expected one that works between two sequences",
                    kScoreNames[static_cast<std::size_t>(score)]));
  }
  options.attention.position = Position::kNone;
  options.head_kernels = std::move(head_kernels);
  return options;
}

}  // namespace

DecoderLayerImpl::DecoderLayerImpl(const EncoderLayerOptions& options,
                                   std::map<std::int64_t, HeadKernel> cross)
    : options_(options) {
  attention_ = register_module("attention", MultiHeadAttention(options.attention));
  norm1_ = register_module("norm1", make_norm(options));
  cross_ = register_module("cross", MultiHeadAttention(cross_options(options.attention, std::move(cross))));
  norm2_ = register_module("norm2", make_norm(options));
  if (options.d_ff == 0) return;
  feed_forward_ = register_module("feed_forward", make_feed_forward(options));
  norm3_ = register_module("norm3", make_norm(options));
}

DecoderLayerResult DecoderLayerImpl::forward(const torch::Tensor& x_BTD, const torch::Tensor& memory_BSD,
                                             const DecoderCalls& calls) {
  const Residual add{options_.norm, options_.dropout, is_training(), calls.self.dropout};
  DecoderLayerResult result;
  result.y = add(norm1_, x_BTD, [&](const torch::Tensor& x) {
    MultiHeadAttentionResult attended = attention_->forward(x, calls.self);
    result.self_pattern = std::move(attended.pattern);
    return attended.y;
  });
  result.y = add(norm2_, result.y, [&](const torch::Tensor& x) {
    MultiHeadAttentionResult attended = cross_->forward(x, memory_BSD, calls.cross);
    result.cross_pattern = std::move(attended.pattern);
    return attended.y;
  });
  if (feed_forward_) {
    result.y = add(norm3_, result.y,
                   [&](const torch::Tensor& x) { return feed_forward_->forward(x, calls.self.dropout); });
  }
  return result;
}

DecoderImpl::DecoderImpl(const EncoderOptions& options) : options_(options) {
  layers_ = register_module("layers", torch::nn::ModuleList());
  const auto n_layers = static_cast<std::size_t>(options.n_layers);
  std::vector<EncoderLayerOptions> layers(n_layers, options.layer);
  std::vector<std::map<std::int64_t, HeadKernel>> cross(n_layers);
  for (const HeadKernelPlace& place : options.head_kernels) {
    const std::string name = head_name({place.layer, place.head, place.stack});
    const bool is_cross = place.stack == Stack::kCross;
    if (place.layer < 0 || place.layer >= options.n_layers || (!is_cross && place.stack != Stack::kDecoder))
      throw ConfigError("nn.decoder", fmt::format("a kernel for {}, expected D0H0 to C{}H{}", name,
                                                  options.n_layers - 1, options.layer.attention.n_heads - 1));
    const auto at = static_cast<std::size_t>(place.layer);
    auto& kernels = is_cross ? cross[at] : layers[at].attention.head_kernels;
    if (!kernels.emplace(place.head, place.kernel).second)
      throw ConfigError("nn.decoder", fmt::format("two kernels for {}, expected one", name));
  }
  for (std::size_t at = 0; at < n_layers; ++at) layers_->push_back(DecoderLayer(layers[at], cross[at]));
  if (options.layer.norm == NormPlace::kPre) norm_ = register_module("norm", make_norm(options.layer));
}

torch::Tensor DecoderImpl::forward(torch::Tensor x_BTD, const torch::Tensor& memory_BSD,
                                   const DecoderContext& context) {
  const std::int64_t d_model = options_.layer.attention.d_model, n_layers = options_.n_layers;
  check_shape("nn.decoder", "x", x_BTD.sizes(), {kAnySize, kAnySize, d_model});
  check_shape("nn.decoder", "memory", memory_BSD.sizes(), {x_BTD.size(0), kAnySize, d_model});
  HeadProbe* probe = context.probe;
  const Keep keep = probe == nullptr ? Keep::kOutput : probe->keep;
  DecoderCalls calls;
  calls.self = {
      .mask = context.mask, .keep = keep, .tokens_BS = context.tokens_BS, .dropout = context.dropout};
  calls.cross = {.mask = context.memory_mask, .keep = keep, .dropout = context.dropout};
  const bool gated = probe != nullptr && probe->gates_LH.defined();
  if (gated) {
    check_shape("nn.decoder", "gates", probe->gates_LH.sizes(),
                {2 * n_layers, options_.layer.attention.n_heads});
  }
  if (context.self_cache != nullptr && context.self_cache->front().v_BHSE.defined())
    calls.cross.first_query = context.self_cache->front().v_BHSE.size(2);
  std::vector<torch::Tensor> cross_patterns;
  if (probe != nullptr) probe->patterns.clear();
  x_BTD = hand_on(probe, -1, x_BTD);
  for (std::int64_t index = 0; index < n_layers; ++index) {
    if (gated) {
      calls.self.gates_H = probe->gates_LH[index];
      calls.cross.gates_H = probe->gates_LH[n_layers + index];
    }
    if (probe != nullptr) {
      calls.self.edit_pattern = for_place(probe->edit_pattern, index);
      calls.self.edit_heads = for_place(probe->edit_heads, index);
      calls.cross.edit_pattern = for_place(probe->edit_pattern, n_layers + index);
      calls.cross.edit_heads = for_place(probe->edit_heads, n_layers + index);
    }
    const auto at = static_cast<std::size_t>(index);
    if (context.self_cache != nullptr) calls.self.cache = &context.self_cache->at(at);
    if (context.cross_cache != nullptr) calls.cross.cache = &context.cross_cache->at(at);
    const Activations activations =
        probe == nullptr && is_training() ? options_.activations : Activations::kKept;
    DecoderLayerResult result;
    // A view a layer: gradients of the memory add up layer by layer, kept or computed again, to the same
    // bits.
    torch::Tensor y_BTD =
        run_layer(activations, layer(index), context.dropout, {x_BTD, memory_BSD.view_as(memory_BSD)},
                  [this, index, calls, &result, keep](const std::vector<torch::Tensor>& inputs) {
                    DecoderLayerResult given = layer(index).forward(inputs[0], inputs[1], calls);
                    if (keep == Keep::kPattern) result = given;
                    return given.y;
                  });
    x_BTD = hand_on(probe, index, std::move(y_BTD));
    if (keep == Keep::kPattern) {
      probe->patterns.push_back(std::move(result.self_pattern));
      cross_patterns.push_back(std::move(result.cross_pattern));
    }
  }
  if (probe != nullptr)
    probe->patterns.insert(probe->patterns.end(), cross_patterns.begin(), cross_patterns.end());
  return norm_ ? norm_->forward(x_BTD) : x_BTD;
}

DecoderLayerImpl& DecoderImpl::layer(std::int64_t index) {
  return layers_->at<DecoderLayerImpl>(static_cast<std::size_t>(index));
}

}  // namespace headtorch::nn
