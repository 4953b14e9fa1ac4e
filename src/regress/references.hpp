#pragma once

#include <cstdint>
#include <vector>

#include "src/regress/regression.hpp"

// What a kernel must beat: plain predictions of an outcome that is a number, at new places. Number columns
// are standardised by mean and sd (n in the denominator) of the data; a constant column becomes 0. A category
// enters as one column of 0 and 1 for each of its values, those not standardised.

namespace headtorch::regress {

/// The mean of y, at each place.
std::vector<double> mean_values(const RegressionData& data, const std::vector<Variable>& places);

/// Ordinary least squares on 1 and the columns; of all solutions the shortest.
std::vector<double> least_squares_values(const RegressionData& data, const std::vector<Variable>& places);

/// The same at each row, without that row: exact, by the hat matrix. A row that alone decides a direction is
/// predicted from the others.  @throws as least_squares_values; DataError for fewer than two rows.
std::vector<double> least_squares_left_out(const RegressionData& data);

struct NearestNeighbours {
  std::int64_t k = 1;  ///< of 1 .. 50 and at most n-1: the least leave-one-out error, ties to the least k
  double cv = 0.0;     ///< that error, a mean square
  std::vector<double>
      values;  ///< at each place, the mean y of the k nearest; rows as far as the k-th share its place
};
/// O(n^2 (d + ln n)).  @throws DataError for fewer than two rows.
NearestNeighbours nearest_neighbours(const RegressionData& data, const std::vector<Variable>& places);

}  // namespace headtorch::regress
