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
  if (auto* norm = (*found)->as<nn::Norm>()) return norm->forward(input);
  if (auto* feed_forward = (*found)->as<nn::FeedForward>()) return feed_forward->forward(input);
  return (*found)->as<torch::nn::Embedding>()->forward(input);
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
double dropout_correlation(models::MiniTransformer& model, const models::ModelInput& input) {
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
    logits_BTC[pass] = model->forward(input, context);
  }
  model->eval();
  return pearson(logits_BTC[0], logits_BTC[1]);
}

/// Odd positions, then even ones: unlike a reversal, no symmetric rule of distances survives it.
double permutation_difference(models::MiniTransformer& model, const models::ModelInput& input) {
  const std::int64_t length = input.target.tokens.size(1);
  if (length < 2 || model->options().family != models::Family::kEncoder) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const torch::Tensor order_T =
      torch::cat({torch::arange(1, length, 2, torch::kLong), torch::arange(0, length, 2, torch::kLong)});
  models::ModelInput permuted{input.target.tokens.index_select(1, order_T)};
  if (input.target.features.defined())
    permuted.target.features = input.target.features.index_select(1, order_T);
  const torch::Tensor logits_BTC = model->forward(input), permuted_BTC = model->forward(permuted);
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
  summed_loss(model->forward(batch.input, context), batch).backward();
  double qk = 0.0, all = 0.0;
  for (const auto& item : model->named_parameters()) {
    const torch::Tensor& gradient = item.value().grad();
    if (!gradient.defined()) continue;
    all += gradient.square().sum().item<double>();
    if (model->attention(0).has_projections() && item.key().ends_with("in_proj_weight")) {
      qk += gradient.narrow(0, 0, gradient.size(0) / 3 * 2).square().sum().item<double>();
    }
  }
  return all > 0.0 ? qk / all : 0.0;
}

/// "encoder.layers.1": the layer of an attention's place.
std::string module_of(models::MiniTransformerImpl& model, std::int64_t place) {
  const models::AttentionPlace at = models::attention_place(model.options(), place);
  return fmt::format("{}.layers.{}", is_decoders(at.stack) ? "decoder" : "encoder", at.layer);
}

}  // namespace

/// Scores that are no numbers make rows that see nothing, and a pass that looks finite.
std::string module_of_bad_parameter(const torch::nn::Module& model) {
  for (const auto& parameter : model.named_parameters()) {
    if (!finite(parameter.value())) return parameter.key().substr(0, parameter.key().rfind('.'));
  }
  return {};
}

std::string first_non_finite(models::MiniTransformer model, const models::ModelInput& input) {
  const torch::NoGradGuard no_grad;
  const EvaluationMode mode(model);
  // What a pass makes, in the order in which it is made: the first that is not finite has the fault.
  std::string found;
  const auto see = [&](const torch::Tensor& tensor, const auto& name) {
    if (found.empty() && !finite(tensor)) found = name();
    return tensor;
  };
  nn::HeadProbe probe;
  probe.keep = nn::Keep::kOutput;
  probe.edit_heads = [&](std::int64_t place, const torch::Tensor& heads_BHTE) {
    return see(heads_BHTE, [&] { return module_of(*model, place) + ".attention"; });
  };
  probe.edit_stream = [&](std::int64_t place, const torch::Tensor& stream_BTD) {
    if (place < 0) {
      const bool of_source = place == -1 && input.source.tokens.defined();
      const std::string prefix = of_source ? "source_" : "";
      const torch::Tensor& tokens = of_source ? input.source.tokens : input.target.tokens;
      return see(stream_BTD, [&] {
        return prefix + (finite(child(*model, prefix + "embedding", tokens)) ? "position" : "embedding");
      });
    }
    return see(stream_BTD, [&] { return module_of(*model, place); });
  };
  nn::Context context;
  context.probe = &probe;
  const torch::Tensor logits_BTC = model->forward(input, context);
  see(logits_BTC, [] { return std::string("output"); });
  const std::string parameter = module_of_bad_parameter(*model);
  // A parameter that is no number says more exactly where; one behind the fault does not explain it.
  if (found.empty()) return parameter;
  const std::string layer = found.substr(0, found.rfind(".attention"));
  return parameter.starts_with(layer) || (found == "output" && !parameter.empty()) ? parameter : found;
}

ModelSigns measure_signs(const RunConfig& config, const tasks::Task& task, std::string_view model) {
  models::MiniTransformer trained = load_model(config, task, model);
  const torch::NoGradGuard no_grad;
  trained->eval();
  const std::int64_t examples = std::min(kBatch, task.size(tasks::Split::kValidation));
  const models::ModelInput input =
      to_tensors(task.batch(tasks::Split::kValidation, 0, examples), torch::kCPU).input;
  ModelSigns signs;
  signs.non_finite_at = first_non_finite(trained, input);
  if (!signs.non_finite_at.empty()) return signs;
  signs.dropout_correlation = dropout_correlation(trained, input);
  signs.permutation_difference = permutation_difference(trained, input);
  Replicas replicas(1);
  signs.train = evaluate(trained, task, tasks::Split::kTrain, kEvaluated, replicas, torch::kCPU);
  signs.held_out = evaluate(trained, task, tasks::Split::kTest,
                            std::min(kEvaluated, task.size(tasks::Split::kTest)), replicas, torch::kCPU);
  return signs;
}

Health initial_health(const RunConfig& config, const tasks::Task& task) {
  torch::manual_seed(static_cast<std::uint64_t>(config.train.seed));
  models::MiniTransformer model(config.model, sizes_for(config, task));
  const Sharpness start = sharpness(record(model, task, default_inputs(task, kInputs), 0, torch::kCPU));
  return {start.score_sd, initial_qk_share(model, config, task), start.entropy_normalised};
}

}  // namespace headtorch::train
