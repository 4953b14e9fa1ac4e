#include "train/scale_grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>

#include "src/core/error.hpp"
#include "src/core/interrupt.hpp"
#include "src/probe/saturation.hpp"
#include "train/replicas.hpp"
#include "train/shortened_task.hpp"
#include "train/side_by_side.hpp"

namespace headtorch::train {
namespace {

constexpr std::string_view kWhere = "scale";
constexpr std::int64_t kMostSeeds = 100;
constexpr std::size_t kMostRates = 32;

struct NamedScale {
  std::string name;
  nn::Scale scale;
};

std::vector<NamedScale> scales() {
  return {{"none", {nn::ScaleKind::kNumber, 1.0}},
          {"sqrt", {nn::ScaleKind::kSqrt, 0.0}},
          {"learned", {nn::ScaleKind::kLearned, 0.0}}};
}

/// The configuration of one training.
RunConfig config_for(const RunConfig& base, const nn::Scale& scale, double rate, std::int64_t seed) {
  RunConfig config = base;
  config.model.attention.scale = scale;
  config.train.min_lr = base.train.min_lr / base.train.lr * rate;
  config.train.lr = rate;
  config.train.seed = seed;
  config.train.threads = 1;
  config.train.eval_every = config.train.heatmap_every = config.train.checkpoint_every = 0;
  config.train.eval_lengths.clear();
  return config;
}

/// A training cut short by a signal.
struct Stopped {
  ExitCode code;
};

probe::ScaleTraining train_one(const RunConfig& config, const tasks::Task& task,
                               const ScaleGridOptions& options) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  if (const int signal = interrupt_signal()) throw Stopped{exit_code_of(signal)};
  probe::ScaleTraining training{
      .first_loss = kNaN, .last_loss = kNaN, .entropy_normalised = kNaN, .saturated = kNaN};
  std::vector<double> losses;
  RunObserver observer;
  observer.on_step = [&](const StepMetrics& step) { losses.push_back(step.non_finite ? kNaN : step.loss); };
  observer.on_attention = [&](const AttentionMaps& maps) {
    const probe::Saturation end = probe::saturation(maps);
    training.entropy_normalised = end.entropy_normalised;
    training.saturated = end.saturated;
  };
  const RunResult result = options.train(config, task, observer);
  if (result.ending == Ending::kInterrupted) throw Stopped{ExitCode::kInterrupted};
  if (result.ending == Ending::kTerminated) throw Stopped{ExitCode::kTerminated};
  if (!losses.empty()) {
    const std::size_t last = std::max<std::size_t>(losses.size() / 10, 1);
    double sum = 0.0;
    for (std::size_t i = losses.size() - last; i < losses.size(); ++i) sum += losses[i];
    training.first_loss = losses.front();
    training.last_loss = sum / static_cast<double>(last);
  }
  training.test_loss = result.ending == Ending::kDiverged ? kNaN : result.test.loss;
  training.initial_score_sd = result.initial_score_sd;
  training.seconds = result.seconds;
  return training;
}

}  // namespace

void check_scale_grid(const RunConfig& config, const ScaleGridOptions& options) {
  if (options.n_seeds < 1 || options.n_seeds > kMostSeeds)
    throw ConfigError(kWhere, fmt::format("n_seeds = {}, expected 1 to {}", options.n_seeds, kMostSeeds));
  if (options.rates.empty() || options.rates.size() > kMostRates)
    throw ConfigError(kWhere, fmt::format("{} rates, expected 1 to {}", options.rates.size(), kMostRates));
  for (std::size_t i = 0; i < options.rates.size(); ++i) {
    if (!std::isfinite(options.rates[i]) || options.rates[i] <= 0.0)
      throw ConfigError(kWhere, fmt::format("rate = {}, expected a number > 0", options.rates[i]));
    if (i > 0 && options.rates[i] <= options.rates[i - 1])
      throw ConfigError(kWhere, fmt::format("rate {} stands after {}, expected rates that rise",
                                            options.rates[i], options.rates[i - 1]));
  }
  if (config.model.attention.score != nn::Score::kDot)
    throw ConfigError(kWhere,
                      "varies the factor on q . k, and the score is another one: expected score = dot");
  for (const NamedScale& one : scales()) {
    for (const double rate : options.rates) check(config_for(config, one.scale, rate, config.train.seed));
  }
}

probe::ScaleGrid train_scale_grid(
    const RunConfig& config, const ScaleGridOptions& options,
    const std::function<void(std::int64_t done, std::int64_t of, const std::string& name)>& progress) {
  check_scale_grid(config, options);
  const std::vector<NamedScale> named = scales();
  const std::size_t n_rates = options.rates.size(), n_seeds = static_cast<std::size_t>(options.n_seeds);
  std::vector<std::unique_ptr<tasks::Task>> tasks;
  for (std::size_t k = 0; k < n_seeds; ++k) {
    RunConfig seeded = config;
    seeded.train.seed += static_cast<std::int64_t>(k);
    std::unique_ptr<tasks::Task> task = make_task(seeded);
    const std::int64_t n_test = enough_test_examples(*task);
    tasks.push_back(shortened(std::move(task), n_test));
  }

  probe::ScaleGrid grid{options.rates, {}};
  for (const NamedScale& one : named)
    grid.rows.push_back({one.name, std::vector(n_rates, std::vector<probe::ScaleTraining>(n_seeds))});
  const auto n_jobs = static_cast<std::int64_t>(named.size() * n_rates * n_seeds);
  std::int64_t done = 0;
  std::mutex counting;
  try {
    run_side_by_side(
        n_jobs, config.train.threads > 0 ? config.train.threads : usable_cores(), [&](std::int64_t job) {
          const auto at = static_cast<std::size_t>(job);
          const std::size_t seed = at % n_seeds, rate = at / n_seeds % n_rates, row = at / n_seeds / n_rates;
          grid.rows[row].trainings[rate][seed] =
              train_one(config_for(config, named[row].scale, options.rates[rate],
                                   config.train.seed + static_cast<std::int64_t>(seed)),
                        *tasks[seed], options);
          const std::lock_guard lock(counting);
          ++done;
          if (progress)
            progress(done, n_jobs, fmt::format("scale {}, rate {}", named[row].name, options.rates[rate]));
        });
  } catch (const Stopped& stopped) {
    throw Error(
        stopped.code, kWhere,
        fmt::format("stopped by a signal after {} of {} trainings, nothing was written", done, n_jobs));
  }
  return grid;
}

}  // namespace headtorch::train
