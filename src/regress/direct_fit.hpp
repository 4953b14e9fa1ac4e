#pragma once

#include <span>
#include <vector>

#include "src/regress/product_kernel.hpp"

namespace headtorch::regress {

/// Internal to this layer: the fit of an outcome that is a number at one place, straight from its definition
/// and for any columns. O(n d) a place, for a line O(n d^2).
///   constant  sum_j w_j y_j
///   linear    weighted least squares on 1 and the number columns; where the weighted rows do not fix a slope
///             (their spread in some direction is below 1e-10 of their distance), the flattest, in units of
///             the bandwidths. Categories enter through the weights only.
class DirectFit {
 public:
  /// @throws DataError, ShapeError: see regression.hpp; ConfigError for an outcome of classes.
  DirectFit(const RegressionData& data, const Smoother& smoother);

  std::size_t size() const { return y_.size(); }
  ProductKernel& kernel() { return kernel_; }
  double y(std::size_t i) const { return y_[i]; }

  void at_row(std::size_t i, Own own);
  void at_place(const std::vector<Variable>& places, std::size_t i);

  /// The fit at the last place.
  double value() const { return value_; }
  /// l_j: value() = sum_j l_j y_j. In whole lanes.
  const std::vector<double>& smoother() const { return smoother_; }
  /// y_j less the constant or the line at row j. In whole lanes.
  const std::vector<double>& residuals() const { return residuals_; }

 private:
  void fit();
  void fit_line();

  ProductKernel kernel_;
  Degree degree_;
  std::vector<double> y_;
  std::vector<double> centred_;  // less the mean, in whole lanes: less rounding
  double y_mean_ = 0.0;
  std::vector<std::size_t> numbers_;  // the number columns
  std::vector<double> smoother_, residuals_;
  double value_ = 0.0;
};

}  // namespace headtorch::regress
