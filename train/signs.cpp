#include "train/signs.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <limits>

#include "train/batch.hpp"
#include "train/checkpoint.hpp"
#include "train/evaluate.hpp"
#include "train/evaluation_mode.hpp"
#include "train/record.hpp"
#include "train/signs_of_model.hpp"

namespace headtorch::train {
namespace {

constexpr std::int64_t kBatch = 64, kEvaluated = 512, kInputs = 8;

bool finite(const torch::Tensor& tensor) { return tensor.isfinite().all().item<bool>(); }

torch::Tensor child(torch::nn::Module& module, const std::string& name, const torch::Tensor& input) {
  const auto children = module.named_children();
  const auto* found = children.find(name);
  if (found == nullptr) return input;
  if (auto* norm = (*found)->as<torch::nn::LayerNorm>()) return norm->forward(input);
  if (auto* feed_forward = (*found)->as<nn::FeedForward>()) return feed_forward->forward(input);
  return (*found)->as<torch::nn::Embedding>()->forward(input);
}

/// The module of a layer that turns finite input into something that is not.
std::string within_layer(nn::EncoderLayerImpl& layer, nn::NormPlace place, const torch::Tensor& x_BTD,
                         bool heads_are_finite, const nn::AttentionCall& call) {
  const bool pre = place == nn::NormPlace::kPre;
  const torch::Tensor read_BTD = pre ? child(layer, "norm1", x_BTD) : x_BTD;
  if (!finite(read_BTD)) return "norm1";
  if (!heads_are_finite) return "attention";
  torch::Tensor y_BTD = layer.attention()->forward(read_BTD, call).y;
  if (!finite(y_BTD)) return "attention.out_proj";
  y_BTD = x_BTD + y_BTD;
  if (!pre) y_BTD = child(layer, "norm1", y_BTD);
  if (!finite(y_BTD)) return "norm1";
  const torch::Tensor normed_BTD = pre ? child(layer, "norm2", y_BTD) : y_BTD;
  if (!finite(normed_BTD)) return "norm2";
  return finite(child(layer, "feed_forward", normed_BTD)) ? "norm2" : "feed_forward";
}

double pearson(const torch::Tensor& a, const torch::Tensor& b) {
  const auto centred = [](const torch::Tensor& logits_BTC) {
    const torch::Tensor rows = logits_BTC.flatten(0, 1).to(torch::kDouble);
    return rows - rows.mean(0, /*keepdim=*/true);
  };
  const torch::Tensor x = centred(a), y = centred(b);
  return ((x * y).sum() / (x.square().sum() * y.square().sum()).sqrt()).item<double>();
}

/// Of the logits of two passes with dropout on; decisions of no training step.
double dropout_correlation(models::MiniTransformer& model, const torch::Tensor& tokens_BT) {
  const nn::ScoreOptions& attention = model->options().attention;
  if (model->options().dropout == 0.0 && attention.attention_dropout == 0.0 &&
      attention.score_dropout == 0.0) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  model->train();
  torch::Tensor logits_BTC[2];
  for (std::int64_t pass = 0; pass < 2; ++pass) {
    nn::DropoutStream stream(/*seed=*/0, /*step=*/pass);
    nn::Context context;
    context.dropout = &stream;
    logits_BTC[pass] = model->forward(tokens_BT, context);
  }
  model->eval();
  return pearson(logits_BTC[0], logits_BTC[1]);
}

/// Odd positions, then even ones: unlike a reversal, no symmetric rule of distances survives it.
double permutation_difference(models::MiniTransformer& model, const torch::Tensor& tokens_BT) {
  const std::int64_t length = tokens_BT.size(1);
  if (length < 2 || model->options().family == models::Family::kCausal) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const torch::Tensor order_T =
      torch::cat({torch::arange(1, length, 2, torch::kLong), torch::arange(0, length, 2, torch::kLong)});
  const torch::Tensor logits_BTC = model->forward(tokens_BT);
  const torch::Tensor permuted_BTC = model->forward(tokens_BT.index_select(1, order_T));
  const double difference = (permuted_BTC - logits_BTC.index_select(1, order_T)).abs().max().item<double>();
  return difference == 0.0 ? 0.0 : difference / logits_BTC.std().item<double>();
}

/// Share of query and key weights in the squared norm of the first step's gradient.
double initial_qk_share(models::MiniTransformer& model, const RunConfig& config, const tasks::Task& task) {
  const BatchTensors batch = to_tensors(task.batch(tasks::Split::kTrain, 0, config.train.batch), torch::kCPU);
  nn::DropoutStream stream(static_cast<std::uint64_t>(config.train.seed), /*step=*/0);
  nn::Context context;
  context.dropout = &stream;
  model->train();
  summed_loss(model->forward(batch.tokens_BT, context), batch.labels_BT).backward();
  double qk = 0.0, all = 0.0;
  for (const auto& item : model->named_parameters()) {
    const torch::Tensor& gradient = item.value().grad();
    if (!gradient.defined()) continue;
    all += gradient.square().sum().item<double>();
    if (config.model.attention.score == nn::Score::kDot && item.key().ends_with("in_proj_weight")) {
      qk += gradient.narrow(0, 0, gradient.size(0) / 3 * 2).square().sum().item<double>();
    }
  }
  return all > 0.0 ? qk / all : 0.0;
}

}  // namespace

/// Scores that are no numbers make rows that see nothing, and a pass that looks finite.
std::string module_of_bad_parameter(const torch::nn::Module& model) {
  for (const auto& parameter : model.named_parameters()) {
    if (!finite(parameter.value())) return parameter.key().substr(0, parameter.key().rfind('.'));
  }
  return {};
}

std::string first_non_finite(models::MiniTransformer model, const torch::Tensor& tokens_BT) {
  const torch::NoGradGuard no_grad;
  const EvaluationMode mode(model);
  std::string found;
  torch::Tensor input_BTD;
  bool heads_are_finite = true;
  nn::AttentionCall call;
  call.tokens_BT = tokens_BT;
  if (model->options().family == models::Family::kCausal)
    call.mask.visibility = attention::Visibility::kCausal;

  nn::HeadProbe probe;
  probe.keep = nn::Keep::kOutput;
  probe.edit_heads = [&](std::int64_t, const torch::Tensor& heads_BHTE) {
    heads_are_finite = finite(heads_BHTE);
    return heads_BHTE;
  };
  probe.edit_stream = [&](std::int64_t layer, const torch::Tensor& stream_BTD) {
    if (found.empty() && !finite(stream_BTD)) {
      found = layer < 0 ? (finite(child(*model, "embedding", tokens_BT)) ? "position" : "embedding")
                        : fmt::format("encoder.layers.{}.{}", layer,
                                      within_layer(model->encoder()->layer(layer), model->options().norm,
                                                   input_BTD, heads_are_finite, call));
    }
    input_BTD = stream_BTD;
    return stream_BTD;
  };
  nn::Context context;
  context.probe = &probe;
  const torch::Tensor logits_BTC = model->forward(tokens_BT, context);
  if (!found.empty()) return found;
  if (finite(logits_BTC)) return module_of_bad_parameter(*model);
  return finite(child(*model->encoder(), "norm", input_BTD)) ? "output" : "encoder.norm";
}

ModelSigns measure_signs(const RunConfig& config, const tasks::Task& task, std::string_view model) {
  models::MiniTransformer trained(config.model, sizes_for(task.shape()));
  from_safetensors(model, "model.safetensors", *trained);
  const torch::NoGradGuard no_grad;
  trained->eval();
  const std::int64_t examples = std::min(kBatch, task.size(tasks::Split::kValidation));
  const torch::Tensor tokens_BT =
      to_tensors(task.batch(tasks::Split::kValidation, 0, examples), torch::kCPU).tokens_BT;
  ModelSigns signs;
  signs.non_finite_at = first_non_finite(trained, tokens_BT);
  if (!signs.non_finite_at.empty()) return signs;
  signs.dropout_correlation = dropout_correlation(trained, tokens_BT);
  signs.permutation_difference = permutation_difference(trained, tokens_BT);
  Replicas replicas(1);
  signs.train = evaluate(trained, task, tasks::Split::kTrain, kEvaluated, replicas, torch::kCPU);
  signs.held_out = evaluate(trained, task, tasks::Split::kTest,
                            std::min(kEvaluated, task.size(tasks::Split::kTest)), replicas, torch::kCPU);
  return signs;
}

Health initial_health(const RunConfig& config, const tasks::Task& task) {
  torch::manual_seed(static_cast<std::uint64_t>(config.train.seed));
  models::MiniTransformer model(config.model, sizes_for(task.shape()));
  const Sharpness start = sharpness(record(model, task, default_inputs(task, kInputs), 0, torch::kCPU));
  return {start.score_sd, initial_qk_share(model, config, task), start.entropy_normalised};
}

}  // namespace headtorch::train
