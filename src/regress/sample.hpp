#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace headtorch::regress {

/// n pairs of one predictor x and an outcome y, sorted once by (x, y), so that no result depends on the order
/// in which they came.
class Sample {
 public:
  /// @throws ShapeError if the lengths differ; DataError without points, for a number that is not finite, or
  /// where the largest x minus the smallest overflows.
  Sample(std::span<const double> x, std::span<const double> y);

  std::size_t size() const { return x_.size(); }
  std::span<const double> x() const { return x_; }  ///< ascending
  std::span<const double> y() const { return y_; }  ///< beside x(), minus y_mean(): less rounding
  double y_mean() const { return y_mean_; }
  /// order()[i]: where x()[i] stood in what was given.
  std::span<const std::size_t> order() const { return order_; }

 private:
  std::vector<double> x_, y_;
  std::vector<std::size_t> order_;
  double y_mean_ = 0.0;
};

/// @throws ConfigError, headed by `where`, unless `bandwidth` is finite and at least 2.2e-308 (the least
/// normal double).
void check_bandwidth(double bandwidth, const char* where);

}  // namespace headtorch::regress
