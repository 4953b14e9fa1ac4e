#include "train/record.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "models/generation.hpp"
#include "src/core/error.hpp"
#include "src/tasks/batch.hpp"
#include "src/tasks/patches.hpp"
#include "train/batch.hpp"
#include "train/checkpoint.hpp"
#include "train/evaluation_mode.hpp"

namespace headtorch::train {
namespace {

/// Fills what people see of tokens [samples, length]; padding is empty.
template <typename TextOf>
void label(SequenceLabels& labels, const std::vector<std::int64_t>& tokens, std::int64_t length,
           const TextOf& text_of) {
  for (auto row = tokens.begin(); row != tokens.end(); row += length) {
    const std::size_t sample = labels.ids.size();
    labels.ids.emplace_back(row, row + length);
    std::vector<std::string>& texts = labels.tokens.emplace_back();
    for (std::int64_t i = 0; i < length; ++i) {
      const bool padding = !labels.lengths.empty() && i >= labels.lengths[sample];
      texts.push_back(padding ? std::string() : text_of(static_cast<std::size_t>(row - tokens.begin() + i)));
    }
  }
}

/// The images that features are patches of.
PatchedImage image_of(const tasks::ImageShape& shape, const std::vector<float>& features,
                      std::int64_t samples) {
  PatchedImage image{shape.rows, shape.columns, shape.patch, shape.first, {}};
  if (shape.rows == 0) return image;
  const std::int64_t pixels = shape.patch * shape.patch, n_pixels = shape.rows * shape.columns * pixels;
  const auto sample_size = std::ssize(features) / samples;
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    const auto patches =
        std::span(features).subspan(static_cast<std::size_t>(sample * sample_size + shape.first * pixels),
                                    static_cast<std::size_t>(n_pixels));
    image.pixels.push_back(
        tasks::unpatch(patches, {shape.rows * shape.patch, shape.columns * shape.patch}, shape.patch));
  }
  return image;
}

}  // namespace

models::ModelSizes sizes_for(const tasks::TaskShape& shape) {
  return {shape.n_symbols,
          shape.n_classes,
          shape.seq_len,
          shape.n_features,
          {shape.source.n_symbols, shape.source.seq_len, shape.source.n_features},
          {},
          shape.n_compared};
}

models::ModelSizes sizes_for(const RunConfig& config, const tasks::Task& task) {
  models::ModelSizes sizes = sizes_for(task.shape());
  if (task.shape().asked_token >= 0) sizes.hidden_tokens = {task.shape().asked_token};
  if (!config.hide_token.empty()) {
    const std::vector<std::int64_t> tokens = task.shape().source.seq_len > 0
                                                 ? task.parse_source(config.hide_token)
                                                 : task.parse_tokens(config.hide_token);
    sizes.hidden_tokens.insert(sizes.hidden_tokens.end(), tokens.begin(), tokens.end());
  }
  return sizes;
}

models::MiniTransformer load_model(const RunConfig& config, const tasks::Task& task, std::string_view bytes) {
  models::MiniTransformer model(config.model, sizes_for(config, task));
  from_safetensors(bytes, "model.safetensors", *model);
  return model;
}

AttentionMaps record(models::MiniTransformer model, const tasks::Task& task, const tasks::Batch& inputs,
                     std::int64_t step, torch::Device device) {
  const models::ModelOptions& options = model->options();
  AttentionMaps maps;
  maps.task = task.shape().name;
  maps.step = step;
  maps.causal = options.family == models::Family::kCausal;
  maps.window = options.window > 0 ? options.window : -1;
  maps.hidden = model->sizes().hidden_tokens;
  label(maps, inputs.tokens, inputs.length, [&](std::size_t at) { return task.position_text(inputs, at); });
  const tasks::Source& source = inputs.source;
  if (source.length > 0) {
    if (std::any_of(source.lengths.begin(), source.lengths.end(), [&](auto n) { return n < source.length; }))
      maps.source.lengths = source.lengths;
    label(maps.source, source.tokens, source.length,
          [&](std::size_t at) { return task.source_token_text(source.tokens[at]); });
    maps.image = image_of(task.shape().source.image, source.features, inputs.examples);
  } else {
    maps.image = image_of(task.shape().image, inputs.features, inputs.examples);
  }

  const torch::NoGradGuard no_grad;
  const EvaluationMode mode(model);
  nn::HeadProbe probe;
  nn::Context context;
  context.probe = &probe;
  model->forward(to_tensors(inputs, device).input, context);
  for (std::size_t place = 0; place < probe.patterns.size(); ++place) {
    const torch::Tensor values_BHTS = probe.patterns[place].to(torch::kCPU, torch::kFloat32).contiguous();
    const models::AttentionPlace at = models::attention_place(options, static_cast<std::int64_t>(place));
    LayerWeights& layer = maps.layers.emplace_back();
    layer = {.samples = values_BHTS.size(0),
             .heads = values_BHTS.size(1),
             .queries = values_BHTS.size(2),
             .keys = values_BHTS.size(3),
             .values = {},
             .stack = at.stack,
             .layer = at.layer};
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
                               const tasks::Batch& inputs, std::int64_t step) {
  const tasks::TaskShape& shape = task.shape();
  const auto check = [](std::int64_t length, std::int64_t most) {
    if (length > most)
      throw DataError("input", fmt::format("has {} tokens, the model reads at most {}", length, most));
  };
  if (shape.asked_token < 0) check(inputs.length, shape.seq_len);  // rows have no positions
  check(inputs.source.length, shape.source.seq_len);
  return record(load_model(config, task, model), task, inputs, step, torch::kCPU);
}

tasks::Batch default_inputs(const tasks::Task& task, std::int64_t n) {
  return task.batch(tasks::Split::kValidation, 0, std::min(n, task.size(tasks::Split::kValidation)));
}

tasks::Batch typed_input(const RunConfig& config, const tasks::Task& task, std::string_view model,
                         std::string_view text) {
  const tasks::TaskShape& shape = task.shape();
  if (shape.n_features > 0 || shape.source.n_features > 0) {
    throw DataError(
        "input",
        fmt::format("{} reads numbers beside tokens, which cannot be typed: expected --sample", shape.name));
  }
  if (shape.source.seq_len == 0) return tasks::unlabelled({task.parse_tokens(text)});
  const std::vector<std::int64_t> source = task.parse_source(text);
  if (source.empty() || std::ssize(source) > shape.source.seq_len) {
    throw DataError(
        "input", fmt::format("has {} tokens, the model reads 1 to {}", source.size(), shape.source.seq_len));
  }
  std::vector<std::int64_t> target = {shape.start};
  if (shape.seq_len > 1) {
    models::MiniTransformer trained = load_model(config, task, model);
    trained->eval();
    models::GenerationRequest request;
    request.prompts = {target};
    request.max_new_tokens = shape.seq_len - 1;
    request.sampling.temperature = 0.0;
    request.source.tokens = torch::tensor(source, torch::kLong).unsqueeze(0);
    const std::vector<std::int64_t> answer = models::generate(trained, request).front().tokens;
    target.insert(target.end(), answer.begin(), answer.end());
  }
  tasks::Batch batch = tasks::unlabelled({target});
  batch.source = {std::ssize(source), source, {std::ssize(source)}, {}};
  return batch;
}

}  // namespace headtorch::train
