#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/options.hpp"
#include "src/tasks/task.hpp"

namespace headtorch::train {

enum class Schedule { kCosine, kLinear, kInverseSqrt, kWarmupStableDecay, kConstant };
enum class DeviceChoice { kAuto, kCpu, kCuda };

/// Of matrix products; weights, norms, softmax, losses and the optimizer stay in float32.
enum class Precision { kFloat32, kBfloat16, kFloat16 };

/// What goes forward and backward in training.
enum class EngineChoice {
  kAuto,     ///< kernels of this project where they know the model (train/engine), else the modules
  kModules,  ///< the torch::nn modules, always
};

/// The `[train]` section.
struct TrainOptions {
  std::int64_t steps = 600;
  std::int64_t batch = 64;
  std::int64_t accumulate = 1;  ///< batches summed into one step
  double lr = 2e-3;             ///< peak rate
  double min_lr = 0.0;
  std::int64_t warmup = 50;  ///< steps
  Schedule schedule = Schedule::kCosine;
  double clip = 1.0;             ///< largest global gradient norm; 0: off
  double entropy_weight = 0.0;   ///< rewards attention entropy (train/entropy_bonus.hpp); 0: off
  double label_smoothing = 0.0;  ///< share of each label given to all classes alike
  double weight_decay = 0.01;
  double beta2 = 0.999;
  std::int64_t patience =
      0;  ///< evaluations without a better validation loss before training stops; 0: never
  std::int64_t seed = 1;
  DeviceChoice device = DeviceChoice::kAuto;
  Precision precision = Precision::kFloat32;
  EngineChoice engine = EngineChoice::kAuto;
  bool recompute = false;  ///< layers compute what their backward needs again, to save memory
  std::vector<std::int64_t> eval_lengths =
      {};                             ///< lengths at which the trained model is tested besides its own
  std::int64_t threads = 0;           ///< replicas of the batch; 0: auto, a fixed rule
  std::int64_t eval_every = 100;      ///< steps; 0: at the end only
  std::int64_t heatmap_every = 0;     ///< steps; 0: at the end only
  std::int64_t checkpoint_every = 0;  ///< steps; 0: at the end only
};

/// Everything that decides a run; config.toml holds it in full.
struct RunConfig {
  tasks::TaskOptions task;
  models::ModelOptions model;
  TrainOptions train;
  std::string hide_token;  ///< `[model]`: tokens that are never seen as keys, as heatmap --input writes them
};

/// The task of a run, read as its model's family asks.  @throws as tasks::make_task.
std::unique_ptr<tasks::Task> make_task(const RunConfig& config);

/// One setting: TOML key `name` of `[section]` and flag `--name` with `-` for `_` (all but the task's name,
/// which is an argument).
struct Setting {
  std::string section, name, help;
  std::string allowed;     ///< as shown to people: "a number in [0, 1)", "one of pre, post"
  bool is_switch = false;  ///< true or false: the flag alone means true
};
/// In the order in which they are applied. Where one source (a preset, a file, the flags) gives `dropout`
/// without `attention_dropout`, the latter takes the same value.
std::span<const Setting> settings();

/// Reads a TOML document over `config`.  @throws ConfigError `[FILE:LINE] KEY = VALUE: what is allowed` for
/// an unknown key, a wrong type or a value out of range; DataError when the text is not TOML. `config` is
/// then unchanged.
void read_toml(std::string_view text, std::string_view file, RunConfig& config);
/// Sets one value from a flag's text; flags are set in the order of settings().  @throws UsageError when the
/// text cannot be read or names no choice, ConfigError when it is not allowed.
void set_flag(std::string_view name, std::string_view value, RunConfig& config);
/// The whole configuration; read_toml of it gives the same config back, to the bit.
std::string to_toml(const RunConfig& config);

/// Names of the built-in presets (models/presets/*.toml, compiled in), and the text of one.
/// @throws UsageError for an unknown name, listing the known ones.
std::vector<std::string> preset_names();
std::string_view preset_text(std::string_view name);

/// Defaults of a task: the built-in ones and what the preset named like the task changes.
/// @throws UsageError for an unknown task.
RunConfig default_config(std::string_view task);

/// Checks what no single value can: heads divide the width, kernel lists have 1 or n_heads values, head
/// kernels name heads that exist and each once, the family fits the task, the last rate is not above the
/// peak.
/// @throws ConfigError naming the settings and both values.
void check(const RunConfig& config);
/// Advice that is worth a line, for example features a head outside 32..128 and why that matters; may be
/// empty.
std::vector<std::string> advice(const RunConfig& config);

}  // namespace headtorch::train
