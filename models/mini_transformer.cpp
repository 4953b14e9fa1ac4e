#include "models/mini_transformer.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include <string>

#include "src/core/error.hpp"
#include "src/core/shape.hpp"
#include "src/nn/initialisation.hpp"
#include "src/nn/linear.hpp"

namespace headtorch::models {
namespace {

constexpr std::string_view kWhere = "models.mini_transformer";

nn::EncoderOptions stack_options(const ModelOptions& options, nn::Activations activations) {
  nn::EncoderOptions stack;
  stack.n_layers = options.n_layers;
  stack.layer.attention.d_model = options.d_model;
  stack.layer.attention.n_heads = options.n_heads;
  stack.layer.attention.init = options.init;
  stack.layer.attention.qk_gain = options.qk_gain;
  stack.layer.attention.attention = options.attention;
  stack.layer.attention.attention.position = options.position;
  stack.layer.d_ff = options.d_ff;
  stack.layer.dropout = options.dropout;
  stack.layer.norm = options.norm;
  stack.layer.norm_kind = options.norm_kind;
  stack.layer.activation = options.activation;
  stack.activations = activations;
  return stack;
}

nn::EncoderOptions with_kernels(nn::EncoderOptions stack, const ModelOptions& options, bool of_decoder) {
  for (const nn::HeadKernelPlace& place : options.head_kernels) {
    if (is_decoders(place.stack) == of_decoder) stack.head_kernels.push_back(place);
  }
  return stack;
}

void check_sizes(const ModelOptions& options, const ModelSizes& sizes) {
  if (sizes.n_symbols < 1 || sizes.n_classes < 1 || sizes.max_len < 1) {
    throw ConfigError(kWhere, fmt::format("{} symbols, {} classes and {} positions: each must be at least 1",
                                          sizes.n_symbols, sizes.n_classes, sizes.max_len));
  }
  const bool has_source = sizes.source.max_len > 0;
  if (has_source != (options.family == Family::kEncoderDecoder)) {
    throw ConfigError("family", has_source ? "is not encoder-decoder, and the task has a source"
                                           : "is encoder-decoder, and the task has no source");
  }
  if (options.output_weight == OutputWeight::kEmbedding && sizes.n_classes != sizes.n_symbols) {
    throw ConfigError(
        "output_weight",
        fmt::format("is the embedding's, with {} symbols read and {} told apart: expected equal numbers",
                    sizes.n_symbols, sizes.n_classes));
  }
  if (options.attention.score == nn::Score::kFeatureGaussian && sizes.n_compared < 1) {
    throw ConfigError("score",
                      "feature-gaussian compares the numbers of rows, and this task has none: expected the "
                      "tasks table or series, or another score");
  }
  for (const nn::HeadKernelPlace& place : options.head_kernels) {
    place_index(options, place.stack, place.layer);
    const std::int64_t keys = keys_are_source(place.stack) ? sizes.source.max_len : sizes.max_len;
    if (place.kernel.family == KernelFamily::kKey && place.kernel.key >= keys) {
      throw ConfigError("head_kernels", fmt::format("{} looks at key {}, expected 0 to {}",
                                                    head_name({place.layer, place.head, place.stack}),
                                                    place.kernel.key, keys - 1));
    }
  }
}

Sequence moved(const Sequence& sequence, torch::Device device) {
  const auto part = [&](const torch::Tensor& tensor) {
    return tensor.defined() ? tensor.to(device) : tensor;
  };
  return {part(sequence.tokens), part(sequence.features), part(sequence.lengths_B)};
}

/// What one stack of a model sees of a probe that counts the places of all.
struct StackProbe {
  nn::HeadProbe own;

  StackProbe(const nn::HeadProbe& all, std::int64_t first, std::int64_t places, std::int64_t input) {
    own.keep = all.keep;
    if (all.gates_LH.defined()) own.gates_LH = all.gates_LH.narrow(0, first, places);
    const auto shifted = [first](const nn::LayerEdit& edit) -> nn::LayerEdit {
      if (!edit) return {};
      return [&edit, first](std::int64_t place, const torch::Tensor& tensor) {
        return edit(first + place, tensor);
      };
    };
    own.edit_pattern = shifted(all.edit_pattern);
    own.edit_heads = shifted(all.edit_heads);
    if (all.edit_stream) {
      own.edit_stream = [&all, first, input](std::int64_t layer, const torch::Tensor& tensor) {
        return all.edit_stream(layer < 0 ? input : first + layer, tensor);
      };
    }
  }
};

}  // namespace

ModelInput ModelInput::to(torch::Device device) const {
  return {moved(target, device), moved(source, device)};
}

void DecodingCache::restart() {
  self.clear();
  tokens_BS = torch::Tensor();
}

MiniTransformerImpl::MiniTransformerImpl(const ModelOptions& options, const ModelSizes& sizes,
                                         nn::Activations activations)
    : options_(options), sizes_(sizes) {
  check_sizes(options, sizes);
  const double sd = nn::embedding_sd(options.init);
  const auto embedding = [&](const std::string& name, std::int64_t n_symbols) {
    auto made = register_module(name, torch::nn::Embedding(n_symbols, options.d_model));
    torch::nn::init::normal_(made->weight, 0.0, sd);
    return made;
  };
  const auto position = [&](const std::string& name, std::int64_t max_len) {
    return register_module(name, nn::PositionalEncoding(nn::PositionalEncodingOptions{
                                     options.position, options.d_model, max_len, sd, options.position_norm}));
  };
  const auto features = [&](const std::string& name, std::int64_t n_features) {
    return register_module(name, nn::make_linear(n_features, options.d_model, options.init));
  };
  const nn::EncoderOptions stack = stack_options(options, activations);
  if (options.family == Family::kEncoderDecoder) {
    source_embedding_ = embedding("source_embedding", sizes.source.n_symbols);
    if (sizes.source.n_features > 0) source_features_ = features("source_features", sizes.source.n_features);
    source_position_ = position("source_position", sizes.source.max_len);
  }
  embedding_ = embedding("embedding", sizes.n_symbols);
  if (sizes.n_features > 0) features_ = features("features", sizes.n_features);
  position_ = position("position", sizes.max_len);
  encoder_ = register_module("encoder", nn::Encoder(with_kernels(stack, options, false)));
  if (options.family == Family::kEncoderDecoder)
    decoder_ = register_module("decoder", nn::Decoder(with_kernels(stack, options, true)));
  if (options.output_weight == OutputWeight::kOwn) {
    output_ = register_module("output", nn::make_linear(options.d_model, sizes.n_classes, options.init));
  } else {
    output_bias_ = register_parameter("output_bias", torch::zeros({sizes.n_classes}));
  }
}

void MiniTransformerImpl::check(const Sequence& sequence, const SequenceSizes& sizes,
                                std::string_view name) const {
  if (!sequence.tokens.defined()) throw ShapeError(kWhere, fmt::format("no {}, expected one", name));
  check_shape(kWhere, name, sequence.tokens.sizes(), {kAnySize, kAnySize});
  const std::int64_t batch = sequence.tokens.size(0), length = sequence.tokens.size(1);
  if ((sizes.n_features > 0) != sequence.features.defined()) {
    throw ShapeError(kWhere, fmt::format("{} {} features, expected {} a token", name,
                                         sequence.features.defined() ? "with" : "without", sizes.n_features));
  }
  if (sequence.features.defined())
    check_shape(kWhere, "features", sequence.features.sizes(), {batch, length, sizes.n_features});
  if (sequence.lengths_B.defined()) check_shape(kWhere, "lengths", sequence.lengths_B.sizes(), {batch});
}

torch::Tensor MiniTransformerImpl::embed(const Sequence& sequence, bool is_source, std::int64_t first,
                                         nn::DropoutStream* dropout) {
  torch::Tensor x_BTD = (is_source ? source_embedding_ : embedding_)->forward(sequence.tokens);
  if (sequence.features.defined())
    x_BTD = x_BTD + (is_source ? source_features_ : features_)->forward(sequence.features);
  x_BTD = (is_source ? source_position_ : position_)->forward(x_BTD, first);
  return nn::dropout(x_BTD, options_.dropout, is_training(), dropout);
}

torch::Tensor MiniTransformerImpl::hidden_keys(const Sequence& sequence) const {
  torch::Tensor visible_BS;
  for (const std::int64_t token : sizes_.hidden_tokens)
    visible_BS = attention::combine(visible_BS, sequence.tokens != token);
  return visible_BS.defined() ? visible_BS.unsqueeze(1).unsqueeze(1) : visible_BS;
}

attention::Mask MiniTransformerImpl::self_mask(const Sequence& sequence, bool is_target) const {
  attention::Mask mask;
  if (is_target && options_.family != Family::kEncoder) mask.visibility = attention::Visibility::kCausal;
  if (options_.window > 0) mask.window = options_.window;
  if (sequence.lengths_B.defined())
    mask.visible = attention::padding_mask(sequence.lengths_B, sequence.tokens.size(1));
  if (!is_target || options_.family != Family::kEncoderDecoder)
    mask.visible = attention::combine(mask.visible, hidden_keys(sequence));
  return mask;
}

attention::Mask MiniTransformerImpl::memory_mask(const Sequence& source) const {
  attention::Mask mask;
  if (source.lengths_B.defined())
    mask.visible = attention::padding_mask(source.lengths_B, source.tokens.size(1));
  mask.visible = attention::combine(mask.visible, hidden_keys(source));
  return mask;
}

torch::Tensor MiniTransformerImpl::output(const torch::Tensor& x_BTD) const {
  if (output_bias_.defined()) return torch::linear(x_BTD, embedding_->weight, output_bias_);
  return torch::linear(x_BTD, output_->weight, output_->bias);
}

torch::Tensor MiniTransformerImpl::forward(const ModelInput& input, const nn::Context& context) {
  check(input.target, {sizes_.n_symbols, sizes_.max_len, sizes_.n_features}, "tokens");
  nn::Context own = context;
  const attention::Mask rule = self_mask(input.target, true);
  own.mask.visible = attention::combine(context.mask.visible, rule.visible);
  own.mask.window = rule.window;
  if (rule.visibility == attention::Visibility::kCausal) own.mask.visibility = rule.visibility;
  own.tokens_BS = input.target.tokens;
  if (sizes_.n_compared > 0) own.rows_BSF = input.target.features.narrow(-1, 0, sizes_.n_compared);
  if (options_.family != Family::kEncoderDecoder)
    return output(encoder_->forward(embed(input.target, false, 0, context.dropout), own));

  check(input.source, sizes_.source, "source");
  if (input.source.tokens.size(0) != input.batch()) {
    throw ShapeError(kWhere, fmt::format("{} sources for {} targets, expected one each",
                                         input.source.tokens.size(0), input.batch()));
  }
  nn::HeadProbe* probe = context.probe;
  std::optional<StackProbe> encoder_probe, decoder_probe;
  if (probe != nullptr) {
    if (probe->gates_LH.defined()) {
      check_shape(kWhere, "gates", probe->gates_LH.sizes(), {n_attention_places(options_), options_.n_heads});
    }
    encoder_probe.emplace(*probe, 0, options_.n_layers, -1);
    decoder_probe.emplace(*probe, options_.n_layers, 2 * options_.n_layers, kDecoderInput);
  }
  nn::Context encoding{
      .mask = self_mask(input.source, false), .tokens_BS = input.source.tokens, .dropout = context.dropout};
  nn::DecoderContext decoding{.mask = own.mask,
                              .memory_mask = memory_mask(input.source),
                              .tokens_BS = input.target.tokens,
                              .dropout = context.dropout};
  if (probe != nullptr) {
    encoding.probe = &encoder_probe->own;
    decoding.probe = &decoder_probe->own;
  }
  const torch::Tensor memory_BSD = encoder_->forward(embed(input.source, true, 0, context.dropout), encoding);
  const torch::Tensor y_BTD =
      decoder_->forward(embed(input.target, false, 0, context.dropout), memory_BSD, decoding);
  if (probe != nullptr) {
    probe->patterns = std::move(encoder_probe->own.patterns);
    for (torch::Tensor& pattern : decoder_probe->own.patterns) probe->patterns.push_back(std::move(pattern));
  }
  return output(y_BTD);
}

torch::Tensor MiniTransformerImpl::decode(const torch::Tensor& tokens_BT, DecodingCache& cache,
                                          const Sequence& source) {
  if (options_.family == Family::kEncoder || is_training()) {
    throw ConfigError(kWhere, "decodes a causal model or an encoder-decoder in evaluation mode only");
  }
  if (sizes_.n_features > 0)
    throw ConfigError(kWhere, "decodes tokens alone, and this model reads features beside them");
  check({tokens_BT}, {sizes_.n_symbols, sizes_.max_len, 0}, "tokens");
  const std::int64_t first = cache.length();
  const torch::Tensor& known = cache.memory_BSD.defined() ? cache.memory_BSD : cache.tokens_BS;
  if (known.defined()) check_shape(kWhere, "tokens", tokens_BT.sizes(), {known.size(0), kAnySize});
  const torch::Tensor x_BTD = embed({tokens_BT}, false, first, nullptr);
  const bool reads_source = options_.family == Family::kEncoderDecoder && !cache.memory_BSD.defined();
  if (reads_source) {
    check(source, sizes_.source, "source");
    check_shape(kWhere, "source", source.tokens.sizes(), {tokens_BT.size(0), kAnySize});
    cache.memory_BSD = encoder_->forward(embed(source, true, 0, nullptr),
                                         {.mask = self_mask(source, false), .tokens_BS = source.tokens});
    cache.memory_mask = memory_mask(source);
  }

  const auto n_layers = static_cast<std::size_t>(options_.n_layers);
  cache.self.resize(n_layers);
  cache.tokens_BS = first == 0 ? tokens_BT : torch::cat({cache.tokens_BS, tokens_BT}, 1);
  const attention::Mask mask = self_mask({cache.tokens_BS}, true);
  if (options_.family == Family::kCausal) {
    return output(encoder_->forward(
        x_BTD, {.mask = mask, .tokens_BS = cache.tokens_BS, .dropout = nullptr, .cache = &cache.self}));
  }
  cache.cross.resize(n_layers);
  return output(decoder_->forward(x_BTD, cache.memory_BSD,
                                  {.mask = mask,
                                   .memory_mask = cache.memory_mask,
                                   .tokens_BS = cache.tokens_BS,
                                   .self_cache = &cache.self,
                                   .cross_cache = &cache.cross}));
}

torch::Tensor MiniTransformerImpl::visible(const ModelInput& input, std::int64_t place) const {
  const Stack stack = attention_place(options_, place).stack;
  const Sequence& looking = queries_are_source(stack) ? input.source : input.target;
  const Sequence& seen = keys_are_source(stack) ? input.source : input.target;
  const attention::Mask mask =
      stack == Stack::kCross ? memory_mask(seen) : self_mask(looking, !queries_are_source(stack));
  const std::int64_t queries = looking.tokens.size(1), keys = seen.tokens.size(1);
  const torch::Tensor resolved = attention::resolve(mask, queries, keys, embedding_->weight.device());
  return resolved.defined()
             ? resolved
             : torch::ones({queries, keys}, torch::dtype(torch::kBool).device(embedding_->weight.device()));
}

nn::MultiHeadAttentionImpl& MiniTransformerImpl::attention(std::int64_t place) {
  const AttentionPlace at = attention_place(options_, place);
  switch (at.stack) {
    case Stack::kDecoder:
      return *decoder_->layer(at.layer).attention();
    case Stack::kCross:
      return *decoder_->layer(at.layer).cross();
    default:
      return *encoder_->layer(at.layer).attention();
  }
}

}  // namespace headtorch::models
