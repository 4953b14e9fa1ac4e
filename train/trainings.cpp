#include "train/trainings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "src/core/error.hpp"
#include "src/core/interrupt.hpp"
#include "train/replicas.hpp"
#include "train/row_contest.hpp"
#include "train/row_references.hpp"
#include "train/shortened_task.hpp"
#include "train/side_by_side.hpp"

namespace headtorch::train {
namespace {

bool is_text(const tasks::TaskShape& shape) { return shape.name == "text"; }

probe::ComparisonMetric metric_of(const tasks::TaskOptions& task, const tasks::TaskShape& shape) {
  if (is_of_rows(shape.name)) {
    const bool is_series = shape.name == "series";
    return {.name = "rmse",
            .higher_is_better = false,
            .best_possible = {},
            .unit = "in units of " + (is_series ? task.column : task.target),
            .sample = is_series ? "origin" : "split"};
  }
  if (is_text(shape)) {
    return {.name = "loss", .higher_is_better = false, .best_possible = {}, .unit = "nats a character"};
  }
  if (shape.measure == tasks::Measure::kReal)
    return {
        .name = "rmse", .higher_is_better = false, .best_possible = {}, .unit = "root mean squared error"};
  return {.name = "token_accuracy", .higher_is_better = true, .best_possible = 1.0, .unit = ""};
}

/// Thrown where a signal is noticed, and made an Error where the count of trainings is known.
struct Stopped {
  ExitCode code;
};

void stop_on_signal() {
  const int signal = interrupt_signal();
  if (signal != 0) throw Stopped{exit_code_of(signal)};
}

}  // namespace

RunConfig config_for(const Candidate& candidate, const RunConfig& base) {
  RunConfig config = candidate.form.value_or(base);
  config.model = candidate.model;
  config.train.threads = 1;
  config.train.eval_every = config.train.heatmap_every = config.train.checkpoint_every = 0;
  return config;
}

tasks::TaskOptions task_for(const RunConfig& config, const ComparisonOptions& options, std::int64_t k) {
  tasks::TaskOptions task = config.task;
  if (!is_of_rows(task.name)) return task;
  task.n_train = options.n_train;
  if (task.name == "series") {
    task.n_origins = options.n_seeds;
    task.origin = std::max<std::int64_t>(k - 1, 0);
  }
  return task;
}

Trainings::Trainings(const RunConfig& config, const ComparisonOptions& options, Progress progress)
    : config_(config), options_(options), progress_(std::move(progress)) {
  for (RunConfig form : forms_of(config)) {
    for (std::int64_t k = 0; k <= options.n_seeds; ++k) {
      form.train.seed = config.train.seed + k;
      form.task = task_for(form, options, k);
      std::unique_ptr<tasks::Task> task = make_task(form);
      const std::int64_t n_test =
          k == 0 ? 0 : enough_test_examples(*task);  // the first seed chooses, by validation
      tasks_.emplace(std::pair(form.task.attend, form.train.seed), shortened(std::move(task), n_test));
    }
  }
  metric_ = metric_of(config.task, shape());
}

const tasks::Task& Trainings::task(const RunConfig& form, std::int64_t seed) const {
  return *tasks_.at({form.task.attend, seed});
}

double Trainings::bandwidth_of(const RunConfig& form, std::int64_t seed) const {
  const tasks::TaskOptions task = task_for(form, options_, seed - config_.train.seed);
  return common_bandwidth(rows_of(task, static_cast<std::uint64_t>(seed)));
}

std::vector<Outcome> Trainings::run(const std::vector<Job>& jobs) {
  return side_by_side(jobs, {}, [&](std::size_t i) { return train(jobs[i]); });
}

std::vector<Outcome> Trainings::replace(const std::vector<Job>& jobs, std::span<const Outcome> trained) {
  return side_by_side(jobs, "with heads replaced", [&](std::size_t i) {
    Outcome outcome{.seconds = trained[i].seconds, .parameters = trained[i].parameters, .model = {}};
    if (trained[i].model.empty()) return outcome;
    RunConfig config = config_for(*jobs[i].candidate, config_);
    config.train.seed = jobs[i].seed;
    outcome.value =
        value_of(options_.replace(config, task(config, jobs[i].seed), trained[i].model, jobs[i].steps));
    return outcome;
  });
}

/// `name`: told of each job; empty: the candidate's.
std::vector<Outcome> Trainings::side_by_side(const std::vector<Job>& jobs, std::string_view name,
                                             const Work& work) {
  std::vector<Outcome> outcomes(jobs.size());
  std::mutex counting;
  const std::int64_t n_threads = config_.train.threads > 0 ? config_.train.threads : usable_cores();
  try {
    run_side_by_side(static_cast<std::int64_t>(jobs.size()), n_threads, [&](std::int64_t i) {
      stop_on_signal();
      const auto at = static_cast<std::size_t>(i);
      outcomes[at] = work(at);
      const std::lock_guard lock(counting);
      ++done_;
      if (progress_)
        progress_(done_, expected_, name.empty() ? jobs[at].candidate->row.name : std::string(name));
    });
  } catch (const Stopped& stopped) {
    throw Error(
        stopped.code, "compare",
        fmt::format("stopped by a signal after {} of {} trainings, nothing was written", done_, expected_));
  }
  return outcomes;
}

Outcome Trainings::train(const Job& job) const {
  RunConfig config = config_for(*job.candidate, config_);
  config.train.seed = job.seed;
  config.train.steps = job.steps;
  Outcome outcome;
  if (job.candidate->bandwidth_by == BandwidthBy::kSplit) {
    outcome.bandwidth = bandwidth_of(config, job.seed);
    config.model.attention.bandwidth = {*outcome.bandwidth};
  }
  RunObserver observer;
  if (job.purpose == Purpose::kChoose) {
    observer.on_evaluation = [&](std::int64_t, const Evaluation& evaluation, double) {
      outcome.value = value_of(evaluation);
    };
  }
  if (job.keeps_model) {
    observer.on_checkpoint = [&](std::int64_t, const std::map<std::string, std::string>& files) {
      outcome.model = files.at("model.safetensors");
    };
  }
  const RunResult result = options_.train(config, task(config, job.seed), observer);
  if (result.ending == Ending::kInterrupted) throw Stopped{ExitCode::kInterrupted};
  if (result.ending == Ending::kTerminated) throw Stopped{ExitCode::kTerminated};
  if (job.purpose == Purpose::kReport) {
    outcome.value = value_of(result.test);
    outcome.mae = result.test.mae;
    outcome.r2 = result.test.r2;
  }
  if (result.ending == Ending::kDiverged) {
    outcome.value = Outcome{}.value;
    if (outcome.mae) outcome.mae = outcome.r2 = outcome.value;
    outcome.model.clear();
  }
  outcome.seconds = result.seconds;
  outcome.parameters = result.parameters;
  return outcome;
}

double Trainings::value_of(const Evaluation& evaluation) const {
  if (evaluation.rmse) return *evaluation.rmse;
  return metric_.best_possible ? evaluation.token_accuracy : evaluation.loss;
}

}  // namespace headtorch::train
