#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/core/attention_maps.hpp"
#include "src/tasks/point_predictors.hpp"
#include "src/tasks/task.hpp"
#include "train/error_interval.hpp"
#include "train/settings/config.hpp"

// What the verbs need of training, without LibTorch's headers.

namespace headtorch::train {

struct HeadStudy;  // train/head_study.hpp

/// Signs of training health: how sharp the heads are on a few validation inputs, and where the gradient goes.
struct Health {
  double score_sd = 0.0;  ///< of a row's scores over visible keys, mean over rows, heads and layers
  double qk_share = 0.0;  ///< share of query and key weights in the squared norm of the next step's gradient
  double entropy_normalised = 0.0;  ///< H / ln(visible keys), mean over the same rows
};

/// Means over counted positions (never over batches). Accuracies are shares; a sequence is right when all its
/// counted positions are.
struct Evaluation {
  std::int64_t n = 0;        ///< examples
  std::int64_t counted = 0;  ///< positions
  double loss =
      std::numeric_limits<double>::quiet_NaN();  ///< nats a counted position; NaN when nothing was counted
  double token_accuracy = std::numeric_limits<double>::quiet_NaN();  ///< NaN under Measure::kReal
  double sequence_accuracy = std::numeric_limits<double>::quiet_NaN();
  std::optional<double> rmse, mae, r2;    ///< Measure::kReal: in original units; 1 - SSE/SST
  std::optional<ErrorInterval> interval;  ///< where the task has an error_block
  std::optional<double> best_loss;        ///< of the best possible predictor on the same positions
  /// Share of sequences right when the model reads its own answers; not for encoders.
  /// token/sequence_accuracy are teacher-forced.
  std::optional<double> free_running_accuracy;
  std::int64_t free_running_n = 0;
  std::optional<Health> health;  ///< in validation before step 1 and after 150 steps
};

/// The trained model on test examples of another length.
struct LengthResult {
  std::int64_t length = 0;
  std::optional<Evaluation> test;  ///< nothing where the model cannot read so many tokens
  std::string why_not = {};
};

/// One optimizer step.
struct StepMetrics {
  std::int64_t step = 0;  ///< from 1
  double loss = 0.0, lr = 0.0;
  double grad_norm = 0.0;  ///< before clipping
  bool clipped = false;
  double tokens_per_second = 0.0, wall_seconds = 0.0;  ///< since the last one, since the start
  bool non_finite = false;                             ///< the step changed nothing
};

/// What a run tells while it goes on; empty functions are not called. All calls come from the caller's
/// thread.
struct RunObserver {
  /// Before the first step. `kernels`: what multiplies (train/engine), for people; empty: the torch::nn
  /// modules, because of `why_not`.
  std::function<void(std::string_view kernels, std::string_view why_not)> on_start;
  std::function<void(const StepMetrics&)> on_step;
  std::function<void(std::int64_t step, const Evaluation&, double wall_seconds)>
      on_evaluation;                                       ///< on validation data
  std::function<void(const AttentionMaps&)> on_attention;  ///< at heatmap_every and at the end
  std::function<void(const HeadStudy&)> on_heads;  ///< with each of those, unless weights are not finite
  std::function<void(std::int64_t step, const std::map<std::string, std::string>& files)>
      on_checkpoint;  ///< at checkpoint_every and at the end; file name -> bytes
};

inline constexpr std::int64_t kPointExamples = 1000;

enum class Ending { kComplete, kInterrupted, kTerminated, kDiverged };

struct RunResult {
  Ending ending = Ending::kComplete;
  std::int64_t parameters = 0;
  std::int64_t steps = 0;  ///< taken
  double seconds = 0.0;    ///< of the optimizer loop alone
  double tokens_per_second = 0.0;
  std::int64_t threads = 0;
  std::string device;  ///< "cpu" or "cuda"
  std::string engine;  ///< "kernels" (train/engine) or "modules"
  std::string
      attention_path;  ///< how training attends: "kernels", "explicit", "fused", "linear" or "blocked"
  double estimated_bytes = 0.0, peak_bytes = 0.0;  ///< of memory: before the run, and the process's most
  std::string stop_reason;  ///< why training ended before its last step; empty: it did not
  std::int64_t non_finite_steps = 0;
  double clipped_share = 0.0;
  double initial_score_sd =
      0.0;  ///< of the scores at step 0, over visible keys, mean over rows, heads, layers (A9)
  Evaluation test;
  std::vector<LengthResult> by_length;        ///< at eval_lengths
  std::vector<tasks::PointErrors> by_points;  ///< of tasks with points: the first kPointExamples of the test
};

/// Trains from `config` and tests on held-out data. Stops after the current step when interrupt_signal() is
/// set, with a checkpoint. The same config gives the same calls, times aside.
/// @throws ConfigError when the device is not there, OutOfMemory with the estimate.
RunResult run_training(const RunConfig& config, const tasks::Task& task, const RunObserver& observer);

/// The weights of every head on given inputs.  `model` is a checkpoint's model.safetensors.
/// @throws DataError naming the tensor when the file does not fit the config, or both numbers when an input
/// is longer than the model reads.
AttentionMaps record_attention(const RunConfig& config, const tasks::Task& task, std::string_view model,
                               const tasks::Batch& inputs, std::int64_t step);

/// Samples written by default: the first ones of the validation split.
tasks::Batch default_inputs(const tasks::Task& task, std::int64_t n);

/// What a person typed, as the model's input. A source alone is completed by what the model answers to it.
/// @throws DataError for what cannot be read, or cannot be typed (images).
tasks::Batch typed_input(const RunConfig& config, const tasks::Task& task, std::string_view model,
                         std::string_view text);

}  // namespace headtorch::train
