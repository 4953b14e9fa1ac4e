#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace headtorch::regress {

/// exp(score / temperature) over each row of `columns` scores, divided by the row's sum; the largest score is
/// taken off first, so that nothing overflows.
std::vector<double> softmax_rows(std::span<const double> scores, std::size_t columns,
                                 double temperature = 1.0);

/// How many points take part, averaged over rows of weights that sum to 1.
struct Sharpness {
  double entropy = 0.0;      ///< -sum_j w_j ln w_j, nats; ln n at most
  double effective_n = 0.0;  ///< 1 / sum_j w_j^2, from 1 to n
};
Sharpness sharpness(std::span<const double> weights, std::size_t columns);

/// sum_j w_j y_j of each row; rows have as many weights as there are y.
std::vector<double> weighted_means(std::span<const double> weights, std::span<const double> y);

}  // namespace headtorch::regress
