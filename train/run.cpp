#include "train/run.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <limits>
#include <mutex>
#include <optional>

#include "src/core/error.hpp"
#include "src/core/interrupt.hpp"
#include "train/adamw.hpp"
#include "train/captured_step.hpp"
#include "train/checkpoint.hpp"
#include "train/device.hpp"
#include "train/evaluate.hpp"
#include "train/gradients.hpp"
#include "train/head_study.hpp"
#include "train/memory.hpp"
#include "train/precision.hpp"
#include "train/record.hpp"
#include "train/replicas.hpp"
#include "train/schedule.hpp"

namespace headtorch::train {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kGiveUpAfter = 10;  // non-finite steps in a row
constexpr std::int64_t kHealthStep = 150;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

models::MiniTransformer build_model(const RunConfig& config, const tasks::Task& task) {
  // Initial weights come from torch's one generator: several runs side by side must not draw from it at once.
  static std::mutex generator;
  const std::lock_guard lock(generator);
  torch::manual_seed(static_cast<std::uint64_t>(config.train.seed));
  return models::MiniTransformer(
      config.model, sizes_for(config, task),
      config.train.recompute ? nn::Activations::kRecomputed : nn::Activations::kKept);
}

bool all_finite(const AttentionMaps& maps) {
  return std::all_of(maps.layers.begin(), maps.layers.end(), [](const LayerWeights& layer) {
    return std::all_of(layer.values.begin(), layer.values.end(),
                       [](float value) { return std::isfinite(value); });
  });
}

/// One run's state; the order of its members is the order in which they must be made.
class Run {
 public:
  Run(const RunConfig& config, const tasks::Task& task, const RunObserver& observer)
      : config_(config),
        options_(config.train),
        task_(task),
        observer_(observer),
        device_(choose_device(options_.device)),
        model_(build_model(config, task)),
        optimizer_(move_to_device(),
                   AdamWOptions{.beta2 = options_.beta2, .weight_decay = options_.weight_decay}),
        replicas_(device_.is_cpu() ? choose_threads(options_, optimizer_.gradient().numel(),
                                                    options_.batch * task.shape().seq_len)
                                   : 1) {
    check_precision(options_.precision, device_);
    gradients_.emplace(config_, task_, model_, optimizer_, replicas_, device_);
    inputs_ = default_inputs(task_, samples_to_record());
  }

  RunResult train() {
    RunResult result;
    result.parameters = optimizer_.gradient().numel();
    result.threads = replicas_.size();
    result.device = device_.is_cpu() ? "cpu" : "cuda";
    model_->train();
    const engine::Engine* engine = gradients_->engine();
    result.engine = engine != nullptr ? "kernels" : "modules";
    result.attention_path = engine != nullptr ? "kernels" : attention_path();
    if (observer_.on_start)
      observer_.on_start(engine != nullptr ? engine->name() : "", gradients_->why_modules());
    prepare_capture(result.attention_path);
    start_ = Clock::now();

    std::int64_t in_a_row = 0;
    double unread_seconds = 0.0;
    const auto note_all = [&](const std::vector<StepReading>& readings) {
      const double each = unread_seconds / static_cast<double>(std::max<std::size_t>(readings.size(), 1));
      if (!readings.empty()) unread_seconds = 0.0;
      for (const StepReading& reading : readings) {
        in_a_row = note(reading, each, result) ? 0 : in_a_row + 1;
        if (in_a_row == kGiveUpAfter) result.ending = Ending::kDiverged;
      }
    };
    for (std::int64_t step = 1; step <= options_.steps; ++step) {
      if (interrupt_signal() != 0) break;
      const Clock::time_point step_start = Clock::now();
      double outside = 0.0;
      const std::vector<StepReading> readings = take_step(step, outside, result);
      const double step_seconds = seconds_since(step_start) - outside;
      result.seconds += step_seconds;
      unread_seconds += step_seconds;
      note_all(readings);
      if (result.ending == Ending::kDiverged) break;
      if (step < options_.steps) report_on_the_way(step);
      if (step < options_.steps && options_.patience > 0 && without_better_ >= options_.patience) {
        result.stop_reason = fmt::format(
            "the validation loss did not fall below {:.6g} in the last {} of the evaluations "
            "(patience = {}); what is kept are the weights of step {}",
            best_loss_, without_better_, options_.patience, step);
        break;
      }
    }
    if (captured_) note_all(captured_->wait());
    result.estimated_bytes = estimated_bytes(config_, task_.shape());
    result.peak_bytes = peak_bytes();
    finish(result);
    return result;
  }

 private:
  torch::nn::Module& move_to_device() {
    model_->to(device_);
    return *model_;
  }

  void prepare_capture(std::string_view path) {
    if (!device_.is_cuda()) return;
    const std::string why = why_not_captured(options_, path);
    if (!why.empty()) {
      spdlog::info("steps are not captured as a CUDA graph: {}", why);
      return;
    }
    captured_.emplace(optimizer_, options_.clip, device_,
                      [this](const BatchTensors& batch) { return gradients_->of(batch); });
  }

  /// Takes a step, or begins one on a GPU.  @returns the steps that are known by now and were not before.
  std::vector<StepReading> take_step(std::int64_t step, double& outside, RunResult& result) {
    const double lr = learning_rate(options_, step);
    const bool has_health = step == 1 || step == kHealthStep + 1;  // which looks between gradient and update
    if (captured_ && !has_health &&
        captured_->take(step, lr,
                        task_.batch(tasks::Split::kTrain, (step - 1) * options_.batch, options_.batch))) {
      return step == options_.steps || reports_after(step) ? captured_->wait() : captured_->finished();
    }
    std::vector<StepReading> readings;
    if (captured_) readings = captured_->wait();
    const std::optional<double> loss = gradients_->accumulate(step);
    if (has_health) outside = timed([&] { report_health(step - 1, result); });
    constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
    StepReading own{step, lr, loss.has_value(), loss.value_or(kNaN), kNaN};
    if (loss && std::isfinite(*loss)) own.grad_norm = optimizer_.step(lr, options_.clip, gradients_->scale());
    if (loss) gradients_->update_loss_scale(std::isfinite(*loss) && std::isfinite(own.grad_norm));
    readings.push_back(own);
    return readings;
  }

  /// @returns whether the step was one, or had nothing to count.
  bool note(const StepReading& reading, double step_seconds, RunResult& result) {
    StepMetrics metrics;
    metrics.step = reading.step;
    metrics.lr = reading.lr;
    metrics.loss = reading.loss;
    metrics.grad_norm = reading.grad_norm;
    metrics.non_finite =
        reading.counted && !(std::isfinite(reading.loss) && std::isfinite(reading.grad_norm));
    metrics.clipped = !metrics.non_finite && options_.clip > 0.0 && metrics.grad_norm > options_.clip;
    metrics.tokens_per_second = tokens_a_step() / step_seconds;
    metrics.wall_seconds = seconds_since(start_);
    if (observer_.on_step) observer_.on_step(metrics);
    if (metrics.clipped) ++clipped_;
    if (metrics.non_finite) ++result.non_finite_steps;
    result.steps = reading.step;
    return !metrics.non_finite;
  }

  double tokens_a_step() const {
    return static_cast<double>(options_.batch * options_.accumulate * task_.shape().seq_len);
  }

  std::int64_t samples_to_record() const {
    constexpr std::int64_t kMost = 8, kMostWeights = 1 << 22;  // a layer
    const std::int64_t length = task_.shape().longest();
    return std::clamp<std::int64_t>(kMostWeights / (config_.model.n_heads * length * length), 1, kMost);
  }

  template <typename Work>
  static double timed(const Work& work) {
    const Clock::time_point start = Clock::now();
    work();
    return seconds_since(start);
  }

  void report_health(std::int64_t steps_taken, RunResult& result) {
    const Sharpness now = sharpness(record(model_, task_, inputs_, steps_taken, device_));
    if (steps_taken == 0) result.initial_score_sd = now.score_sd;
    report_evaluation(steps_taken, Health{now.score_sd, qk_share(), now.entropy_normalised});
  }

  /// Of the squared norm of the gradient at hand.
  double qk_share() {
    double qk = 0.0, all = 0.0;
    std::int64_t offset = 0;
    for (const torch::Tensor& parameter : optimizer_.parameters()) {
      const torch::Tensor part = optimizer_.gradient().narrow(0, offset, parameter.numel());
      offset += parameter.numel();
      all += part.square().sum().item<double>();
      // A learned projection packs queries, keys and values: two of its three blocks of rows are q and k.
      if (is_learned_projection(parameter)) {
        qk += part.narrow(0, 0, parameter.numel() / 3 * 2).square().sum().item<double>();
      }
    }
    return all > 0.0 ? qk / all : 0.0;
  }

  bool is_learned_projection(const torch::Tensor& parameter) const {
    models::MiniTransformer model = model_;
    if (!model->attention(0).has_projections()) return false;
    const auto names = model_->named_parameters();
    return std::any_of(names.begin(), names.end(), [&](const auto& item) {
      return item.key().ends_with("in_proj_weight") && item.value().is_same(parameter);
    });
  }

  static bool due(std::int64_t step, std::int64_t every) { return every > 0 && step % every == 0; }

  bool reports_after(std::int64_t step) const {
    return due(step, options_.eval_every) || due(step, options_.heatmap_every) ||
           due(step, options_.checkpoint_every);
  }

  void report_on_the_way(std::int64_t step) {
    if (due(step, options_.eval_every) && step != kHealthStep)
      report_evaluation(step);  // that one follows with its signs
    if (due(step, options_.heatmap_every)) report_attention(step);
    if (due(step, options_.checkpoint_every)) report_checkpoint(step);
  }

  void report_evaluation(std::int64_t step, std::optional<Health> health = {}) {
    if (!observer_.on_evaluation && options_.patience == 0) return;
    Evaluation evaluation =
        evaluate(model_, task_, tasks::Split::kValidation, task_.size(tasks::Split::kValidation), replicas_,
                 device_, evaluating_engine());
    evaluation.health = health;
    if (interrupt_signal() != 0) return;
    const bool better = evaluation.loss < best_loss_;
    without_better_ = better ? 0 : without_better_ + 1;
    if (better) best_loss_ = evaluation.loss;
    if (observer_.on_evaluation) observer_.on_evaluation(step, evaluation, seconds_since(start_));
  }

  void report_attention(std::int64_t step) {
    if (!observer_.on_attention && !observer_.on_heads) return;
    const AttentionMaps maps = record(model_, task_, inputs_, step, device_);
    if (observer_.on_attention) observer_.on_attention(maps);
    if (!observer_.on_heads || !all_finite(maps) || interrupt_signal() != 0) return;
    try {
      observer_.on_heads(study_heads(config_, task_, to_safetensors(*model_), step));
    } catch (const ConfigError& error) {
      // Of weights that are finite and beyond all measure, what follows from them is not: the run goes on.
      spdlog::warn("[train] the heads after step {} cannot be read: {}", step, error.what());
    }
  }

  /// For evaluations, which are in float32 whatever the precision of training; null: the modules.
  engine::Engine* evaluating_engine() {
    return options_.precision == Precision::kFloat32 ? gradients_->engine() : nullptr;
  }

  void report_checkpoint(std::int64_t step) {
    if (observer_.on_checkpoint)
      observer_.on_checkpoint(step, {{"model.safetensors", to_safetensors(*model_)}});
  }

  void finish(RunResult& result) {
    const double steps = static_cast<double>(std::max<std::int64_t>(result.steps, 1));
    result.clipped_share = static_cast<double>(clipped_) / steps;
    result.tokens_per_second =
        result.seconds > 0.0 ? tokens_a_step() * static_cast<double>(result.steps) / result.seconds : 0.0;
    report_checkpoint(result.steps);
    report_attention(result.steps);
    if (interrupt_signal() == 0) report_evaluation(result.steps);
    if (interrupt_signal() == 0) {
      result.test = evaluate(model_, task_, tasks::Split::kTest, task_.size(tasks::Split::kTest), replicas_,
                             device_, evaluating_engine());
      if (task_.n_free_running() > 0) {
        result.test.free_running_n = task_.n_free_running();
        result.test.free_running_accuracy =
            free_running_accuracy(model_, task_, task_.n_free_running(), device_);
      }
      result.by_points = by_points();
      for (const std::int64_t length : options_.eval_lengths) result.by_length.push_back(at_length(length));
    }
    if (interrupt_signal() != 0) {
      result.ending = interrupt_signal() == SIGINT ? Ending::kInterrupted : Ending::kTerminated;
      result.test = {};
      result.by_points.clear();
    }
  }

  std::vector<tasks::PointErrors> by_points() {
    std::vector<tasks::PointErrors> errors = tasks::point_errors(task_, tasks::Split::kTest, kPointExamples);
    if (errors.empty()) return errors;
    const std::vector<double> own =
        losses_by_position(model_, task_, tasks::Split::kTest, kPointExamples, device_);
    for (std::size_t k = 0; k < own.size(); ++k) errors[k].model = own[k];
    return errors;
  }

  std::string attention_path() const {
    if (options_.entropy_weight > 0.0) return std::string(nn::path_name(nn::Path::kExplicit));
    const bool causal = config_.model.family == models::Family::kCausal;
    attention::Mask mask;
    if (causal) mask.visibility = attention::Visibility::kCausal;
    if (config_.model.window > 0) mask.window = config_.model.window;
    const tasks::TaskShape& shape = task_.shape();
    const std::int64_t length = shape.source.seq_len > 0 ? shape.source.seq_len : shape.seq_len;
    models::MiniTransformer model = model_;
    return std::string(
        nn::path_name(model->attention(0).path(mask, options_.batch / replicas_.size(), length, length)));
  }

  /// On as many test examples as hold the tokens of 1000 at the task's own length.
  LengthResult at_length(std::int64_t length) {
    LengthResult result;
    result.length = length;
    try {
      RunConfig other = config_;
      other.task.seq_len = length;
      const std::unique_ptr<tasks::Task> task = make_task(other);
      const std::int64_t n = std::clamp<std::int64_t>(1000 * task_.shape().seq_len / length, 100, 1000);
      result.test = evaluate(model_, *task, tasks::Split::kTest, std::min(n, task->size(tasks::Split::kTest)),
                             replicas_, device_);
    } catch (const Error& error) {
      result.why_not = error.what();
    }
    return result;
  }

  const RunConfig& config_;
  const TrainOptions& options_;
  const tasks::Task& task_;
  const RunObserver& observer_;
  torch::Device device_;
  models::MiniTransformer model_;
  AdamW optimizer_;
  Replicas replicas_;
  std::optional<Gradients> gradients_;
  std::optional<CapturedStep> captured_;  // nothing: each step is taken and waited for
  std::int64_t clipped_ = 0;              // steps
  tasks::Batch inputs_;
  Clock::time_point start_;
  double best_loss_ = std::numeric_limits<double>::infinity();  // of validation
  std::int64_t without_better_ = 0;                             // evaluations since
};

}  // namespace

RunResult run_training(const RunConfig& config, const tasks::Task& task, const RunObserver& observer) {
  return with_memory_advice(config, task.shape(), [&] { return Run(config, task, observer).train(); });
}

}  // namespace headtorch::train
