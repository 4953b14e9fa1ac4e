#pragma once

#include <functional>
#include <string>
#include <vector>

#include "src/probe/learning_curve.hpp"
#include "src/probe/verdict.hpp"
#include "train/comparison_match.hpp"
#include "train/replaced_heads.hpp"
#include "train/run.hpp"

namespace headtorch::train {

enum class Rows { kFixedOnly, kAll };  ///< `baseline`, `compare`

struct ComparisonOptions {
  Rows rows = Rows::kAll;
  std::int64_t n_seeds = 4;  ///< reported ones: the configured seed chooses, the next ones are reported
  std::int64_t screen_steps = 150;  ///< for each kernel of the grid, on the selection seed
  std::vector<double> bandwidths;   ///< at most 3, instead of those of the generic kernels in the grid
  Match match = Match::kSteps;
  /// Rows of a file (tasks table and series): the comparison again with so many training rows, ascending.
  std::vector<std::int64_t> sizes = {};
  std::int64_t season = 0;   ///< of a series, in steps; 0: the lag with the least training error
  std::int64_t n_train = 0;  ///< training rows of one of the sizes; 0: all
  /// Trains one model, and replaces the heads of one; other functions take their place in tests.
  std::function<RunResult(const RunConfig&, const tasks::Task&, const RunObserver&)> train = run_training;
  std::function<Evaluation(const RunConfig&, const tasks::Task&, std::string_view model, std::int64_t step)>
      replace = evaluate_replaced;
};

struct Comparison {
  std::vector<probe::ComparisonRow>
      rows;  ///< no mixing, uniform, generic, shaped, raw-dot, learned, replaced; references
  std::vector<probe::ComparisonRow>
      screened;  ///< the grid after screen_steps on the selection seed, validation values
  probe::ComparisonMetric metric;
  probe::Verdict verdict;
  std::vector<probe::SizePoint> sizes;  ///< those asked for and, last, all training rows; else empty
  std::string overtaking;               ///< from how many rows learning is ahead; empty without sizes
  double seconds = 0.0;
};

/// Trains the same model with fixed kernels and with learned ones on the same data, budget and seeds. Kernel
/// family and bandwidth are chosen on validation data of one seed (each of the grid for screen_steps, the
/// best two of each line in full) and reported on test data of others. Learned rows: one head and all, in one
/// layer and in all; without query and key projections; and the largest with every head replaced by its
/// nearest kernel, not trained again. Rows of a file (train/row_contest.hpp) have kernels on their features
/// in place of the latter, and plain references. As many trainings side by side as train.threads, or as cores
/// when it is 0; each uses one thread, and the numbers do not depend on how many. A training that diverged
/// gives NaN. `progress` is told how many of how many trainings are done, from any thread but never at once.
/// @throws ConfigError for options out of range, sizes of a task that is not of rows, and what train::check
/// finds, Error kInterrupted or kTerminated when stopped by a signal, and what a training throws.
Comparison compare(
    const RunConfig& config, const ComparisonOptions& options,
    const std::function<void(std::int64_t done, std::int64_t of, const std::string& name)>& progress);

}  // namespace headtorch::train
