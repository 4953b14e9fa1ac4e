#include "src/cli/event_log.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstring>

#include "src/store/safetensors.hpp"

namespace headtorch::cli {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

/// H / ln(visible keys) of every row that sees at least 2 keys.
std::vector<double> row_entropies(const LayerWeights& layer) {
  std::vector<double> entropies;
  const auto keys = static_cast<std::size_t>(layer.keys);
  for (std::size_t row = 0; row + keys <= layer.values.size(); row += keys) {
    double entropy = 0.0, visible = 0.0;
    for (std::size_t key = row; key < row + keys; ++key) {
      const double weight = layer.values[key];
      if (weight <= 0.0) continue;
      entropy -= weight * std::log(weight);
      visible += 1.0;
    }
    if (visible >= 2.0) entropies.push_back(entropy / std::log(visible));
  }
  return entropies;
}

void add_histogram(std::vector<report::EventValue>& values, std::string tag,
                   std::optional<report::Histogram> histogram) {
  if (histogram) values.push_back({std::move(tag), *std::move(histogram)});
}

}  // namespace

EventLog::EventLog(const store::RunFolder& run, const std::string& config)
    : run_(run), name_(report::event_file_name(static_cast<std::int64_t>(now()), host_name(), ::getpid())) {
  run_.append(name_, report::event_file_head(now()));
  append(0, {{"config", report::code_block(config, "toml")}});
}

void EventLog::add(const train::StepMetrics& metrics) {
  append(metrics.step, {{"train/loss", metrics.loss},
                        {"train/lr", metrics.lr},
                        {"train/grad_norm", metrics.grad_norm},
                        {"train/tokens_per_second", metrics.tokens_per_second}});
}

void EventLog::add(std::int64_t step, const train::Evaluation& validation) {
  std::vector<report::EventValue> values = {{"validation/loss", validation.loss},
                                            {"validation/token_accuracy", validation.token_accuracy},
                                            {"validation/sequence_accuracy", validation.sequence_accuracy}};
  if (validation.health) {
    values.push_back({"health/score_sd", validation.health->score_sd});
    values.push_back({"health/qk_share", validation.health->qk_share});
    values.push_back({"health/entropy_normalised", validation.health->entropy_normalised});
  }
  append(step, values);
}

void EventLog::add(const AttentionMaps& maps) {
  std::vector<report::EventValue> values;
  for (const LayerWeights& layer : maps.layers) {
    const std::string name = "attention/" + layer_file_name(layer.stack, layer.layer);
    add_histogram(values, name + "/weights", report::histogram(std::span<const float>(layer.values)));
    const std::vector<double> entropies = row_entropies(layer);
    add_histogram(values, name + "/entropy_normalised",
                  report::histogram(std::span<const double>(entropies)));
  }
  append(maps.step, values);
}

void EventLog::add(std::int64_t step, const std::map<std::string, std::string>& pictures) {
  std::vector<report::EventValue> values;
  for (const auto& [name, png] : pictures) values.push_back({"heatmaps/" + name, report::PngPicture{png}});
  append(step, values);
}

void EventLog::add_parameters(std::int64_t step, const std::string& model) {
  std::vector<report::EventValue> values;
  for (const auto& [name, tensor] : store::read_safetensors(model, "model.safetensors").tensors) {
    if (tensor.dtype != store::DType::kF32) continue;
    std::vector<float> numbers(tensor.bytes.size() / sizeof(float));
    std::memcpy(numbers.data(), tensor.bytes.data(), tensor.bytes.size());
    add_histogram(values, "parameters/" + name, report::histogram(std::span<const float>(numbers)));
  }
  append(step, values);
}

void EventLog::append(std::int64_t step, const std::vector<report::EventValue>& values) {
  if (!values.empty()) run_.append(name_, report::event(now(), step, values));
}

}  // namespace headtorch::cli
