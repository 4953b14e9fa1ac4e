#include "train/record.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "src/core/error.hpp"
#include "train/checkpoint.hpp"

namespace headtorch::train {

models::ModelSizes sizes_for(const tasks::TaskShape& shape) {
  return {shape.n_symbols, shape.n_classes, shape.seq_len};
}

AttentionMaps record(models::MiniTransformer model, const tasks::Task& task,
                     const std::vector<std::vector<std::int64_t>>& inputs, std::int64_t step,
                     torch::Device device) {
  AttentionMaps maps;
  maps.task = task.shape().name;
  maps.step = step;
  maps.causal = model->options().family == models::Family::kCausal;
  maps.ids = inputs;
  std::vector<std::int64_t> flat;
  for (const auto& input : inputs) {
    flat.insert(flat.end(), input.begin(), input.end());
    std::vector<std::string>& texts = maps.tokens.emplace_back();
    for (const std::int64_t token : input) texts.push_back(task.token_text(token));
  }
  const auto samples = static_cast<std::int64_t>(inputs.size());
  const torch::Tensor tokens_BT = torch::tensor(flat, torch::kLong).view({samples, -1}).to(device);

  const torch::NoGradGuard no_grad;
  const bool was_training = model->is_training();
  model->eval();
  nn::HeadProbe probe;
  nn::Context context;
  context.probe = &probe;
  model->forward(tokens_BT, context);
  model->train(was_training);
  for (const torch::Tensor& pattern : probe.patterns) {
    const torch::Tensor values_BHTS = pattern.to(torch::kCPU, torch::kFloat32).contiguous();
    LayerWeights& layer = maps.layers.emplace_back();
    layer = {values_BHTS.size(0), values_BHTS.size(1), values_BHTS.size(2), values_BHTS.size(3), {}};
    layer.values.assign(values_BHTS.data_ptr<float>(), values_BHTS.data_ptr<float>() + values_BHTS.numel());
  }
  return maps;
}

Sharpness sharpness(const AttentionMaps& maps) {
  double sd_sum = 0.0, entropy_sum = 0.0;
  std::int64_t rows = 0;
  for (const LayerWeights& layer : maps.layers) {
    const auto keys = static_cast<std::size_t>(layer.keys);
    for (std::size_t at = 0; at < layer.values.size(); at += keys) {
      // Counted from the row's first score, so that equal scores have a spread of exactly 0.
      double n = 0.0, first = 0.0, sum = 0.0, square_sum = 0.0, entropy = 0.0;
      for (std::size_t key = at; key < at + keys; ++key) {
        const double weight = layer.values[key];
        if (weight <= 0.0) continue;
        const double score = std::log(weight);
        if (n == 0.0) first = score;
        n += 1.0;
        sum += score - first;
        square_sum += (score - first) * (score - first);
        entropy -= weight * score;
      }
      if (n < 2.0) continue;
      sd_sum += std::sqrt(std::max(square_sum / n - (sum / n) * (sum / n), 0.0));
      entropy_sum += entropy / std::log(n);
      ++rows;
    }
  }
  if (rows == 0) return {};
  return {sd_sum / static_cast<double>(rows), entropy_sum / static_cast<double>(rows)};
}

AttentionMaps record_attention(const RunConfig& config, const tasks::Task& task, std::string_view model,
                               const std::vector<std::vector<std::int64_t>>& inputs, std::int64_t step) {
  const tasks::TaskShape& shape = task.shape();
  if (inputs.empty() || inputs.front().empty())
    throw DataError("input", "is empty, expected at least one token");
  for (const auto& input : inputs) {
    if (static_cast<std::int64_t>(input.size()) > shape.seq_len) {
      throw DataError("input",
                      fmt::format("has {} tokens, the model reads at most {}", input.size(), shape.seq_len));
    }
    if (input.size() != inputs.front().size()) {
      throw DataError("input", fmt::format("inputs of {} and {} tokens, expected one length",
                                           inputs.front().size(), input.size()));
    }
  }
  models::MiniTransformer trained(config.model, sizes_for(shape));
  from_safetensors(model, "model.safetensors", *trained);
  return record(trained, task, inputs, step, torch::kCPU);
}

std::vector<std::vector<std::int64_t>> default_inputs(const tasks::Task& task, std::int64_t n) {
  return inputs_of(
      task.batch(tasks::Split::kValidation, 0, std::min(n, task.size(tasks::Split::kValidation))));
}

std::vector<std::vector<std::int64_t>> inputs_of(const tasks::Batch& batch) {
  std::vector<std::vector<std::int64_t>> inputs;
  for (auto row = batch.tokens.begin(); row != batch.tokens.end(); row += batch.length) {
    inputs.emplace_back(row, row + batch.length);
  }
  return inputs;
}

}  // namespace headtorch::train
