#include "train/circuits.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "train/checkpoint.hpp"
#include "train/record.hpp"

namespace headtorch::train {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kExamplesLooked = 64;

/// One head's weights, float64; W_Q and W_K are undefined where they decide nothing.
struct HeadWeights {
  torch::Tensor q_DE, k_DE, v_DE, o_ED;
};

/// M = left right', with left [D, E] and right [D, E]: its norm needs E x E products only.
double product_norm(const torch::Tensor& left_DE, const torch::Tensor& right_DE) {
  const torch::Tensor squares = (left_DE.t().mm(left_DE) * right_DE.t().mm(right_DE)).sum();
  return std::sqrt(std::max(squares.item<double>(), 0.0));
}

/// norm(M1 M2) / (norm(M1) norm(M2)), M1 = v o of the lower head, M2 = left right' of the upper one.
double composition(const HeadWeights& lower, const torch::Tensor& left_DE, const torch::Tensor& right_DE) {
  if (!left_DE.defined()) return kNone;
  const torch::Tensor between_ED = lower.o_ED.mm(left_DE).mm(right_DE.t());
  const double norms = product_norm(lower.v_DE, lower.o_ED.t()) * product_norm(left_DE, right_DE);
  return norms > 0.0 ? product_norm(lower.v_DE, between_ED.t()) / norms : kNone;
}

/// sum Re(l) / sum abs(l) from the E x E product, which has the same eigenvalues but for zeros.
double copying(const HeadWeights& head, const torch::Tensor& embedding_VD, const torch::Tensor& output_DC) {
  const torch::Tensor product_EE = head.o_ED.mm(output_DC).mm(embedding_VD.mm(head.v_DE));
  if (!torch::isfinite(product_EE).all().item<bool>()) return kNone;
  const torch::Tensor eigenvalues_E = torch::linalg_eigvals(product_EE);
  const double sum = eigenvalues_E.abs().sum().item<double>();
  return sum > 0.0 ? torch::real(eigenvalues_E).sum().item<double>() / sum : kNone;
}

bool labels_are_tokens(const tasks::Task& task) {
  const tasks::TaskShape& shape = task.shape();
  if (shape.n_classes != shape.n_symbols) return false;
  if (shape.reading == tasks::Reading::kLeftToRight) return true;
  const tasks::Batch batch = task.batch(tasks::Split::kValidation, 0,
                                        std::min(kExamplesLooked, task.size(tasks::Split::kValidation)));
  for (std::size_t i = 0; i < batch.labels.size(); ++i) {
    if (batch.labels[i] == tasks::kNotCounted) continue;
    const auto row = batch.tokens.begin() + static_cast<std::int64_t>(i) / batch.length * batch.length;
    if (std::find(row, row + batch.length, batch.labels[i]) == row + batch.length) return false;
  }
  return true;
}

class Weights {
 public:
  Weights(const RunConfig& config, const tasks::Task& task, std::string_view bytes)
      : options_(config.model), model_(load_model(config, task, bytes)) {}

  torch::Tensor named(const std::string& name) const {
    return model_->named_parameters()[name].detach().to(torch::kDouble);
  }

  /// [D, *] that reads the stream through the LayerNorm of this name: centring and gain folded in.
  torch::Tensor folded(const torch::Tensor& weight, const std::string& norm) const {
    if (options_.norm != nn::NormPlace::kPre) return weight;
    const torch::Tensor scaled = named(norm + ".weight").unsqueeze(-1) * weight;
    return options_.norm_kind == nn::NormKind::kLayer ? scaled - scaled.mean(0, /*keepdim=*/true) : scaled;
  }

  /// [C, D]
  torch::Tensor output() const {
    return named(options_.output_weight == models::OutputWeight::kOwn ? "output.weight" : "embedding.weight");
  }

  HeadWeights head(const HeadPlace& place) const {
    const std::string layer =
        fmt::format("{}.layers.{}.", is_decoders(place.stack) ? "decoder" : "encoder", place.layer);
    const std::string attention = layer + (place.stack == Stack::kCross ? "cross" : "attention");
    const std::string norm = layer + (place.stack == Stack::kCross ? "norm2" : "norm1");
    const std::int64_t index = place.head;
    const torch::Tensor in_proj = named(attention + ".in_proj_weight");
    const std::int64_t width = options_.d_model / options_.n_heads;
    const auto part = [&](std::int64_t which) {
      return folded(in_proj.narrow(0, which * options_.d_model + index * width, width).t(), norm);
    };
    const bool learned = in_proj.size(0) == 3 * options_.d_model;
    const bool additive =
        options_.attention.score == nn::Score::kAdditive;  // its W_Q and W_K form no product
    const bool replaced = std::any_of(options_.head_kernels.begin(), options_.head_kernels.end(),
                                      [&](const nn::HeadKernelPlace& kernel) {
                                        return HeadPlace{kernel.layer, kernel.head, kernel.stack} == place;
                                      });
    HeadWeights weights;
    if (learned && !replaced && !additive) {
      weights.q_DE = part(0);
      weights.k_DE = part(1);
    }
    weights.v_DE = part(learned ? 2 : 0);
    weights.o_ED = named(attention + ".out_proj.weight").narrow(1, index * width, width).t();
    return weights;
  }

 private:
  const models::ModelOptions& options_;
  models::MiniTransformer model_;
};

}  // namespace

probe::Circuits read_circuits(const RunConfig& config, const tasks::Task& task, std::string_view model) {
  const torch::NoGradGuard no_grad;
  const Weights weights(config, task, model);
  const torch::Tensor embedding_VD = weights.named("embedding.weight");
  // In an encoder-decoder nothing that the encoder writes reaches the output but through cross-attention.
  const bool pair = config.model.family == models::Family::kEncoderDecoder;
  const torch::Tensor output_DC =
      weights.folded(weights.output().t(), pair ? "decoder.norm" : "encoder.norm");
  const bool copies = !pair && labels_are_tokens(task);
  probe::Circuits circuits;
  circuits.chance = 1.0 / std::sqrt(static_cast<double>(config.model.d_model));
  std::vector<std::pair<HeadPlace, HeadWeights>> below;
  for (std::int64_t at = 0; at < models::n_attention_places(config.model); ++at) {
    const auto [stack, layer] = models::attention_place(config.model, at);
    if (layer == 0) below.clear();  // compositions stay within a stack
    std::vector<std::pair<HeadPlace, HeadWeights>> here;
    for (std::int64_t index = 0; index < config.model.n_heads; ++index) {
      const HeadPlace place{layer, index, stack};
      const HeadWeights head = weights.head(place);
      circuits.copying.push_back(copies ? copying(head, embedding_VD, output_DC) : kNone);
      if (stack == Stack::kCross) continue;
      for (const auto& [lower_place, lower] : below) {
        circuits.compositions.push_back({lower_place, place, composition(lower, head.q_DE, head.k_DE),
                                         composition(lower, head.k_DE, head.q_DE),
                                         composition(lower, head.v_DE, head.o_ED.t())});
      }
      here.emplace_back(place, head);
    }
    below.insert(below.end(), here.begin(), here.end());
  }
  return circuits;
}

}  // namespace headtorch::train
