#include "train/settings/config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utf8.h>

#include <algorithm>
#include <set>
#include <utility>

#include "src/core/error.hpp"
#include "src/core/head_place.hpp"
#include "train/settings/embedded_presets.hpp"
#include "train/settings/field.hpp"

namespace headtorch::train {
namespace {

constexpr std::string_view kTaskName = "name";  // an argument, not a flag
constexpr std::int64_t kFewestFeatures = 32, kMostFeatures = 128;

const Field& field_of_flag(std::string_view name) {
  for (const Field& field : fields()) {
    if (field.name == name && name != kTaskName) return field;
  }
  throw UsageError(name, "is no setting");
}

std::string known_tasks() {
  std::vector<std::string> names;
  for (const auto& task : tasks::describe_tasks()) names.push_back(task.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

tasks::TaskDescription described(std::string_view name) {
  for (const auto& task : tasks::describe_tasks()) {
    if (task.name == name) return task;
  }
  throw UsageError("task", fmt::format("\"{}\" is unknown, expected one of {}", name, known_tasks()));
}

const EmbeddedPreset* find_preset(std::string_view name) {
  for (const EmbeddedPreset& preset : embedded_presets()) {
    if (preset.name == name) return &preset;
  }
  return nullptr;
}

void check_per_head(std::string_view name, const std::vector<double>& values, std::int64_t n_heads) {
  const auto count = static_cast<std::int64_t>(values.size());
  if (count == 1 || count == n_heads) return;
  throw ConfigError(name,
                    fmt::format("has {} values with n_heads = {}, expected 1 or one a head", count, n_heads));
}

void check_head_kernels(const models::ModelOptions& model) {
  std::set<std::pair<std::int64_t, std::int64_t>> seen;
  for (const nn::HeadKernelPlace& place : model.head_kernels) {
    const std::string name = head_name(HeadPlace{place.layer, place.head});
    if (place.layer >= model.n_layers || place.head >= model.n_heads) {
      throw ConfigError(
          "head_kernels",
          fmt::format("{} is not in a model of n_layers = {} and n_heads = {}, expected L0H0 to L{}H{}", name,
                      model.n_layers, model.n_heads, model.n_layers - 1, model.n_heads - 1));
    }
    if (!seen.emplace(place.layer, place.head).second)
      throw ConfigError("head_kernels", fmt::format("{} is given twice, expected one kernel a head", name));
  }
}

}  // namespace

std::span<const Setting> settings() {
  static const std::vector<Setting> all = [] {
    std::vector<Setting> list;
    for (const Field& field : fields()) {
      list.push_back({field.section, field.name, field.help, allowed(field),
                      std::holds_alternative<Boolean>(field.kind)});
    }
    return list;
  }();
  return all;
}

void set_flag(std::string_view name, std::string_view value, RunConfig& config) {
  const Field& field = field_of_flag(name);
  std::string flag(name);
  std::replace(flag.begin(), flag.end(), '_', '-');
  if (!utf8::is_valid(value.begin(), value.end())) {
    throw UsageError("--" + flag, "is not UTF-8, and could not be written to config.toml");
  }
  const Value read = value_from_text(field, value);
  if (!assign(field, read, config)) {
    const std::string fault = fault_of(field, read);
    throw ConfigError("--" + flag, fmt::format("{} is not allowed{}, expected {}", value,
                                               fault.empty() ? "" : ": " + fault, allowed(field)));
  }
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const EmbeddedPreset& preset : embedded_presets()) names.emplace_back(preset.name);
  std::sort(names.begin(), names.end());
  return names;
}

std::string_view preset_text(std::string_view name) {
  if (const EmbeddedPreset* preset = find_preset(name)) return preset->text;
  throw UsageError(
      "preset", fmt::format("\"{}\" is unknown, expected one of {}", name, fmt::join(preset_names(), ", ")));
}

RunConfig default_config(std::string_view task) {
  const tasks::TaskDescription description = described(task);
  RunConfig config;
  config.model.attention.attention_dropout = config.model.dropout;
  config.model.family = description.reading == tasks::Reading::kLeftToRight ? models::Family::kCausal
                                                                            : models::Family::kEncoder;
  if (const EmbeddedPreset* preset = find_preset(task)) {
    read_toml(preset->text, fmt::format("preset {}", task), config);
  }
  config.task.name = task;
  return config;
}

void check(const RunConfig& config) {
  const auto& [task, model, train] = config;
  const tasks::TaskDescription description = described(task.name);
  if (model.d_model % model.n_heads != 0) {
    throw ConfigError("model",
                      fmt::format("n_heads = {} does not divide d_model = {}; every head needs the same "
                                  "number of features",
                                  model.n_heads, model.d_model));
  }
  check_per_head("bandwidth", model.attention.bandwidth, model.n_heads);
  check_per_head("kernel_slope", model.attention.kernel_slope, model.n_heads);
  check_per_head("kernel_offset", model.attention.kernel_offset, model.n_heads);
  check_head_kernels(model);
  const bool left_to_right = description.reading == tasks::Reading::kLeftToRight;
  if (left_to_right != (model.family == models::Family::kCausal)) {
    throw ConfigError("model", fmt::format("family = {} does not fit task {}, which is read {}: expected {}",
                                           left_to_right ? "encoder" : "causal", task.name,
                                           left_to_right ? "left to right" : "as a whole",
                                           left_to_right ? "causal" : "encoder"));
  }
  if (train.min_lr > train.lr) {
    throw ConfigError("train", fmt::format("min_lr = {} is above lr = {}, the peak", train.min_lr, train.lr));
  }
}

std::vector<std::string> advice(const RunConfig& config) {
  const std::int64_t features = config.model.d_model / config.model.n_heads;
  const bool learned = config.model.attention.score == nn::Score::kDot;
  if (!learned || (features >= kFewestFeatures && features <= kMostFeatures)) return {};
  const std::string numbers =
      fmt::format("{} features a head ({} / {})", features, config.model.d_model, config.model.n_heads);
  if (features < kFewestFeatures) {
    return {fmt::format(
        "{}: below {}, a head's q.k has too low a rank to tell many keys apart; fewer heads or a larger "
        "d_model may learn faster",
        numbers, kFewestFeatures)};
  }
  return {fmt::format(
      "{}: above {}, one head costs what several could use to look at different places; more heads may "
      "learn more",
      numbers, kMostFeatures)};
}

}  // namespace headtorch::train
