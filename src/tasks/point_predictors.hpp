#pragma once

#include <cstdint>
#include <vector>

#include "src/tasks/task.hpp"

// What can be said of y at a new x from the points seen, with nothing learned (TaskShape::points).

namespace headtorch::tasks {

struct Points {
  std::int64_t n_predictors = 1;
  std::vector<double> x, y;  ///< [n, n_predictors], [n]
};

/// For each point what the points before it say; all are 0 where there is none.
struct PointPredictions {
  std::vector<double> average;
  std::vector<double> nearest_3;  ///< mean y of the three nearest; of all while there are fewer
  /// Gaussian kernel of the distance |x - x'|. The bandwidth is the one of least leave-one-out error on the
  /// points before, of 48 from 2 times to 1/200 of the largest distance in the example, the widest of equals;
  /// of two points and fewer it is the widest. Where all weights underflow: the nearest point.
  std::vector<double> nadaraya_watson;
  std::vector<double> least_squares;  ///< a linear function; of least norm while points are too few
};
/// @param has_intercept of the linear function
PointPredictions predict_points(const Points& points, bool has_intercept);

/// Mean squared errors of y after k points.
struct PointErrors {
  std::int64_t k = 0;
  double model = 0.0;
  double nadaraya_watson = 0.0, nearest_3 = 0.0, average = 0.0, least_squares = 0.0;
  double best = 0.0;  ///< of Task::best_losses
};
/// Over examples 0 .. n-1 of a split, for each k; `model` stays 0. Empty for a task without points.
std::vector<PointErrors> point_errors(const Task& task, Split split, std::int64_t n);

}  // namespace headtorch::tasks
