#pragma once

#include <functional>
#include <string>
#include <vector>

#include "src/probe/verdict.hpp"
#include "train/run.hpp"

namespace headtorch::train {

enum class Rows { kFixedOnly, kAll };  ///< `baseline`, `compare`

struct ComparisonOptions {
  Rows rows = Rows::kAll;
  std::int64_t n_seeds = 4;
  std::int64_t screen_steps = 150;  ///< for each kernel of the grid, on the selection seed
  std::vector<double> bandwidths;   ///< given by hand: replaces the grid's bandwidths; empty: the grid
};

struct Comparison {
  std::vector<probe::ComparisonRow> rows;       ///< no mixing first, then uniform, generic, shaped, learned
  std::vector<probe::ComparisonRow> screened;   ///< the grid on the selection seed, validation values
  probe::ComparisonMetric metric;
  probe::Verdict verdict;
  double seconds = 0.0;
};

/// Trains the same model with fixed kernels and with learned ones on the same data, budget and seeds; kernel family and
/// bandwidth are chosen on validation data of one seed and reported on others. Seeds run side by side, one thread each.
/// `progress` is told how many of how many trainings are done, from any thread but never at once.
Comparison compare(const RunConfig& config, const ComparisonOptions& options,
                   const std::function<void(std::int64_t done, std::int64_t of, const std::string& name)>& progress);

}  // namespace headtorch::train
