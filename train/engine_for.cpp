#include "train/engine_for.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include <cmath>
#include <map>

#include "src/attention/relative.hpp"
#include "src/nn/initialisation.hpp"
#include "src/nn/positional_encoding.hpp"

namespace headtorch::train {
namespace {

constexpr std::int64_t kMostWeights = 1 << 24;  // of one sequence, in all heads and layers: 64 MiB

template <std::size_t N>
std::string named(const std::string_view (&names)[N], std::size_t index, std::string_view what) {
  return fmt::format("{} {} is not among what it computes", what, names[index]);
}

bool is_known(nn::Position position) {
  return position == nn::Position::kNone || position == nn::Position::kLearned ||
         position == nn::Position::kSinusoidal || position == nn::Position::kRope;
}

/// Finds parameters by name in the flat buffer.
class Finder {
 public:
  Finder(const models::MiniTransformer& model, const AdamW& optimizer)
      : first_(optimizer.values().data_ptr<float>()) {
    for (const auto& item : model->named_parameters()) parameters_.emplace(item.key(), item.value());
  }

  /// Null when the model has none of that name.
  engine::Parameter operator()(const std::string& name) const {
    const auto found = parameters_.find(name);
    if (found == parameters_.end()) return {};
    const float* values = found->second.data_ptr<float>();
    return {values, values - first_};
  }
  engine::Linear linear(const std::string& name) const {
    return {(*this)(name + ".weight"), (*this)(name + ".bias")};
  }
  engine::Norm norm(const std::string& name) const {
    return {(*this)(name + ".weight"), (*this)(name + ".bias")};
  }

 private:
  const float* first_;
  std::map<std::string, torch::Tensor> parameters_;
};

std::vector<float> copied(const torch::Tensor& tensor) {
  const torch::Tensor flat = tensor.contiguous().to(torch::kFloat32);
  return {flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel()};
}

/// cos and sin of every angle as kernels::TurnPairs reads them, from what attention::rope does to unit
/// vectors.
void add_turning(engine::Model& model) {
  const std::int64_t features = model.sizes.width / model.sizes.heads, tokens = model.sizes.longest;
  // attention::rope is exact in float64; the tables are then rounded once, as its own are.
  const torch::Tensor even_E = (torch::arange(features) % 2 == 0).to(torch::kFloat64);
  const auto turned_TE = [&](const torch::Tensor& unit_E) {
    return attention::rope(unit_E.expand({1, 1, tokens, features}).contiguous(), 0)[0][0];
  };
  // (1, 0) becomes (cos, sin), and (0, 1) becomes (-sin, cos); a last odd feature stays.
  const torch::Tensor of_even_TE = turned_TE(even_E), of_odd_TE = turned_TE(1.0 - even_E);
  const torch::Tensor is_even_E = even_E > 0.5;
  model.turn_cosine = copied(torch::where(is_even_E, of_even_TE, of_odd_TE));
  model.turn_sine = copied(torch::where(is_even_E, of_odd_TE, of_even_TE));
}

}  // namespace

std::string why_modules(const RunConfig& config, const tasks::TaskShape& shape, torch::Device device) {
  const models::ModelOptions& model = config.model;
  const TrainOptions& train = config.train;
  if (train.engine == EngineChoice::kModules) return "engine = modules";
  if (!device.is_cpu()) return "the device is not a CPU";
  if (kernels::kernels() == nullptr) return "this processor has neither AVX2 nor AVX-512";
  if (model.family == models::Family::kEncoderDecoder) return "it knows no encoder-decoder";
  if (model.attention.score != nn::Score::kDot)
    return named(nn::kScoreNames, static_cast<std::size_t>(model.attention.score), "score");
  if (model.attention.scale.kind == nn::ScaleKind::kLearned) return "it learns no temperature";
  if (!is_known(model.position))
    return named(nn::kPositionNames, static_cast<std::size_t>(model.position), "position");
  if (model.position_norm) return "it has no norm behind the positions";
  if (model.attention.qk_norm) return "it has no qk_norm";
  if (model.activation == nn::Activation::kSwiglu) return "activation swiglu is not among what it computes";
  if (model.attention.score_dropout > 0.0) return "it has no score_dropout";
  if (model.window > 0) return "it has no window";
  if (!config.hide_token.empty() || shape.asked_token >= 0) return "it hides no tokens";
  if (!model.head_kernels.empty()) return "it replaces no heads";
  if (train.entropy_weight > 0.0) return "it has no entropy_weight";
  if (train.recompute) return "recompute = true";
  if (model.n_layers * model.n_heads * shape.seq_len * shape.seq_len > kMostWeights)
    return fmt::format("it keeps all weights of a sequence, and {} tokens have too many", shape.seq_len);
  return {};
}

engine::Model engine_model(const models::MiniTransformer& module, const AdamW& optimizer,
                           const RunConfig& config) {
  const models::ModelOptions& options = module->options();
  const models::ModelSizes& sizes = module->sizes();
  const Finder find(module, optimizer);
  engine::Model model;
  model.sizes = {options.n_layers, options.d_model, options.n_heads, options.d_ff,
                 sizes.n_symbols,  sizes.n_classes, sizes.max_len,   sizes.n_features};
  model.causal = options.family == models::Family::kCausal;
  model.norm_place = options.norm;
  model.norm_kind = options.norm_kind;
  model.activation = options.activation;
  const double features = static_cast<double>(options.d_model / options.n_heads);
  model.attention_scale = static_cast<float>(options.attention.scale.kind == nn::ScaleKind::kNumber
                                                 ? options.attention.scale.number
                                                 : 1.0 / std::sqrt(features));
  model.dropout = options.dropout;
  model.attention_dropout = options.attention.attention_dropout;
  model.label_smoothing = config.train.label_smoothing;

  model.embedding = find("embedding.weight");
  model.features = find.linear("features");
  model.positions = find("position.table");
  if (options.position == nn::Position::kSinusoidal) {
    const double scale = nn::embedding_sd(options.init) / std::sqrt(0.5);
    model.position_code =
        copied(scale * nn::sinusoidal_positions(0, sizes.max_len, options.d_model, torch::kFloat64));
  }
  if (options.position == nn::Position::kRope) add_turning(model);
  for (std::int64_t i = 0; i < options.n_layers; ++i) {
    const std::string layer = fmt::format("encoder.layers.{}.", i);
    model.layers.push_back(
        {{find(layer + "attention.in_proj_weight"), find(layer + "attention.in_proj_bias")},
         find.linear(layer + "attention.out_proj"),
         find.norm(layer + "norm1"),
         find.linear(layer + "feed_forward.linear1"),
         find.linear(layer + "feed_forward.linear2"),
         find.norm(layer + "norm2")});
  }
  model.norm = find.norm("encoder.norm");
  model.output = options.output_weight == models::OutputWeight::kOwn
                     ? find.linear("output")
                     : engine::Linear{model.embedding, find("output_bias")};
  return model;
}

std::unique_ptr<engine::Engine> make_engine(const models::MiniTransformer& model, const AdamW& optimizer,
                                            const RunConfig& config, std::int64_t shares) {
  const kernels::Kernels& own = *kernels::kernels();
  const kernels::Products& products =
      config.train.precision == Precision::kBfloat16 ? *kernels::bfloat16_products() : *own.products;
  return std::make_unique<engine::Engine>(engine_model(model, optimizer, config), own, products, shares);
}

}  // namespace headtorch::train
