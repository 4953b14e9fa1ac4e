#pragma once

#include <cstdint>

#include "src/probe/head_report.hpp"

namespace headtorch::probe {

/// One input's part in a score: sum of weight * value over its eligible rows, sum of the weights, and the sum
/// that uniform weights over the visible keys would give.
struct Tally {
  double sum = 0.0, weight = 0.0, chance = 0.0;
  std::int64_t rows = 0;

  void add(double value, double chance_of_row, double row_weight = 1.0) {
    sum += row_weight * value;
    chance += row_weight * chance_of_row;
    weight += row_weight;
    ++rows;
  }
};

/// r = sum_x s_x / sum_x n_x over inputs, with r +- t(m - 1) sqrt(m / (m - 1) sum_x (s_x - r n_x)^2) / sum_x
/// n_x, the linearised ratio estimator (Cochran 1977, Sampling Techniques, 6.3; inputs drawn alike). Memory
/// does not grow with inputs; those without an eligible row do not count.
class Ratio {
 public:
  void add(const Tally& input);
  Score score() const;
  /// Inputs with an eligible row.
  std::int64_t inputs() const { return inputs_; }
  /// r alone; NaN without rows.
  double value() const { return mean_sum_ / mean_weight_; }

 private:
  std::int64_t inputs_ = 0, rows_ = 0;
  double chance_ = 0.0;
  double mean_sum_ = 0.0, mean_weight_ = 0.0;  // running means and centred moments (Welford 1962)
  double sum_sum_ = 0.0, sum_weight_ = 0.0, weight_weight_ = 0.0;
};

}  // namespace headtorch::probe
