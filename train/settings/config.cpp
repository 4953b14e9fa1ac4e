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

std::string_view family_name(models::Family family) {
  constexpr std::string_view kNames[] = {"encoder", "causal", "encoder-decoder"};
  return kNames[static_cast<std::size_t>(family)];
}

models::Family family_for(tasks::Reading reading) {
  switch (reading) {
    case tasks::Reading::kLeftToRight:
      return models::Family::kCausal;
    case tasks::Reading::kSourceToTarget:
      return models::Family::kEncoderDecoder;
    default:
      return models::Family::kEncoder;
  }
}

std::string_view reading_name(tasks::Reading reading) {
  constexpr std::string_view kNames[] = {"as a whole", "left to right", "from a source"};
  return kNames[static_cast<std::size_t>(reading)];
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
  std::set<HeadPlace> seen;
  const bool pair = model.family == models::Family::kEncoderDecoder;
  for (const nn::HeadKernelPlace& kernel : model.head_kernels) {
    const HeadPlace place{kernel.layer, kernel.head, kernel.stack};
    if (place.layer >= model.n_layers || place.head >= model.n_heads ||
        pair == (place.stack == Stack::kSelf)) {
      const HeadPlace first{0, 0, pair ? Stack::kEncoder : Stack::kSelf};
      const HeadPlace last{model.n_layers - 1, model.n_heads - 1, pair ? Stack::kCross : Stack::kSelf};
      throw ConfigError(
          "head_kernels",
          fmt::format("{} is not in a model of n_layers = {} and n_heads = {}, expected {} to {}",
                      head_name(place), model.n_layers, model.n_heads, head_name(first), head_name(last)));
    }
    if (!seen.insert(place).second) {
      throw ConfigError("head_kernels",
                        fmt::format("{} is given twice, expected one kernel a head", head_name(place)));
    }
  }
}

void check_attention(const models::ModelOptions& model) {
  const std::string_view position = nn::kPositionNames[static_cast<std::size_t>(model.position)];
  const std::string_view score = nn::kScoreNames[static_cast<std::size_t>(model.attention.score)];
  const nn::Acts acts = nn::acts(model.position);
  if (acts == nn::Acts::kBias && model.attention.score == nn::Score::kLinear) {
    throw ConfigError("model",
                      fmt::format("position = {} adds to scores and score = linear has none: expected "
                                  "none, sinusoidal, learned or rope",
                                  position));
  }
  if (acts != nn::Acts::kOutside && !nn::is_learned(model.attention.score)) {
    throw ConfigError("model",
                      fmt::format("position = {} acts on learned queries and keys and score = {} has none: "
                                  "expected none, sinusoidal or learned",
                                  position, score));
  }
  if (model.position == nn::Position::kRope && model.d_model / model.n_heads < 2) {
    throw ConfigError("model",
                      fmt::format("position = rope turns pairs of features and a head has {}: expected at "
                                  "least 2",
                                  model.d_model / model.n_heads));
  }
  const nn::Score asked = model.attention.score;
  const bool scaled = asked == nn::Score::kDot || asked == nn::Score::kCosine || asked == nn::Score::kLinear;
  if (model.attention.scale.kind != nn::ScaleKind::kSqrt && !scaled) {
    throw ConfigError(
        "model", fmt::format("scale is a factor of score dot, cosine and linear, and score = {}: expected "
                             "scale = sqrt, which changes nothing",
                             score));
  }
  if (model.attention.qk_norm && !nn::is_learned(asked)) {
    throw ConfigError(
        "model",
        fmt::format("qk_norm is of learned queries and keys and score = {} has none: expected false", score));
  }
  const bool pair = model.family == models::Family::kEncoderDecoder;
  if (pair && nn::is_of_one_sequence(asked)) {
    throw ConfigError("model", fmt::format("score = {} compares positions of one sequence, and family = "
                                           "encoder-decoder has two: expected another score",
                                           score));
  }
}

void check_precision(const TrainOptions& train) {
  if (train.precision == Precision::kFloat16 && train.device == DeviceChoice::kCpu)
    throw ConfigError("train",
                      "precision = float16 needs a GPU, and device = cpu: expected bfloat16 or float32");
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
  config.model.family = family_for(description.reading);
  if (const EmbeddedPreset* preset = find_preset(task)) {
    read_toml(preset->text, fmt::format("preset {}", task), config);
  }
  config.task.name = task;
  return config;
}

std::unique_ptr<tasks::Task> make_task(const RunConfig& config) {
  tasks::TaskOptions options = config.task;
  if (config.model.family == models::Family::kEncoderDecoder)
    options.reading = tasks::Reading::kSourceToTarget;
  return tasks::make_task(options, static_cast<std::uint64_t>(config.train.seed));
}

void check(const RunConfig& config) {
  const auto& [task, model, train, hide_token] = config;
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
  check_attention(model);
  check_precision(train);
  const bool rows = task.name == "table" || (task.name == "series" && task.attend == tasks::Attend::kRows);
  if (!rows && model.attention.score == nn::Score::kFeatureGaussian) {
    throw ConfigError("model",
                      "score = feature-gaussian compares rows by their features: expected the task table, or "
                      "series with attend = rows, or another score");
  }
  if (rows && model.position != nn::Position::kNone) {
    throw ConfigError("model",
                      fmt::format("position = {} gives places to rows, which have none: expected none{}",
                                  nn::kPositionNames[static_cast<std::size_t>(model.position)],
                                  task.name == "series" ? ", or --preset series-rows" : ""));
  }
  const models::Family natural = family_for(description.reading);
  const bool translates = description.translates && model.family == models::Family::kEncoderDecoder;
  if (model.family != natural && !translates) {
    throw ConfigError("model",
                      fmt::format("family = {} does not fit task {}, which is read {}: expected {}{}",
                                  family_name(model.family), task.name, reading_name(description.reading),
                                  family_name(natural), description.translates ? " or encoder-decoder" : ""));
  }
  if (train.patience > 0 && train.eval_every == 0)
    throw ConfigError("train",
                      fmt::format("patience = {} counts evaluations, and eval_every = 0 makes none: expected "
                                  "eval_every > 0",
                                  train.patience));
  if (train.min_lr > train.lr) {
    throw ConfigError("train", fmt::format("min_lr = {} is above lr = {}, the peak", train.min_lr, train.lr));
  }
}

std::vector<std::string> advice(const RunConfig& config) {
  const std::int64_t features = config.model.d_model / config.model.n_heads;
  const bool learned = nn::is_learned(config.model.attention.score);
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
