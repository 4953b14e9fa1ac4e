#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "src/probe/scale_verdict.hpp"
#include "train/run.hpp"

namespace headtorch::train {

struct ScaleGridOptions {
  std::vector<double> rates = {1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1};  ///< ascending
  std::int64_t n_seeds = 3;  ///< the configured one and those after it
  /// Trains one model; another function takes its place in tests.
  std::function<RunResult(const RunConfig&, const tasks::Task&, const RunObserver&)> train = run_training;
};

/// @throws ConfigError for options out of range, a score other than dot and what train::check finds.
void check_scale_grid(const RunConfig& config, const ScaleGridOptions& options);

/// Trains the configured model with scale none (q . k as it is), sqrt and learned, at each peak rate, on the
/// same data and seeds. The last rate of a schedule keeps its proportion to the peak. As many trainings side
/// by side as train.threads, or as cores when it is 0; each uses one thread, and the numbers do not depend on
/// how many. `progress` is told how many of how many trainings are done, from any thread but never at once.
/// @throws what check_scale_grid finds, Error kInterrupted or kTerminated when stopped by a signal, and what
/// a training throws.
probe::ScaleGrid train_scale_grid(
    const RunConfig& config, const ScaleGridOptions& options,
    const std::function<void(std::int64_t done, std::int64_t of, const std::string& name)>& progress);

}  // namespace headtorch::train
