#include "src/probe/ratio.hpp"

#include <algorithm>
#include <cmath>

#include "src/probe/summary.hpp"

namespace headtorch::probe {

void Ratio::add(const Tally& input) {
  if (!(input.weight > 0.0)) return;
  ++inputs_;
  rows_ += input.rows;
  chance_ += input.chance;
  const auto n = static_cast<double>(inputs_);
  const double sum_before = input.sum - mean_sum_, weight_before = input.weight - mean_weight_;
  mean_sum_ += sum_before / n;
  mean_weight_ += weight_before / n;
  sum_sum_ += sum_before * (input.sum - mean_sum_);
  sum_weight_ += sum_before * (input.weight - mean_weight_);
  weight_weight_ += weight_before * (input.weight - mean_weight_);
}

Score Ratio::score() const {
  Score score;
  if (inputs_ == 0) return score;
  const auto n = static_cast<double>(inputs_);
  const double total = n * mean_weight_;
  score.value = value();
  score.chance = chance_ / total;
  score.rows = rows_;
  if (inputs_ > 1) {
    const double squares =
        sum_sum_ - 2 * score.value * sum_weight_ + score.value * score.value * weight_weight_;
    const double half = student_t_95(inputs_ - 1) * std::sqrt(n / (n - 1) * std::max(squares, 0.0)) / total;
    score.low = score.value - half;
    score.high = score.value + half;
  }
  return score;
}

}  // namespace headtorch::probe
