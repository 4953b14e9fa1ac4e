#pragma once

#include <span>
#include <vector>

#include "src/regress/kernel.hpp"
#include "src/regress/sample.hpp"

namespace headtorch::regress {

/// f_{-i}(x_i) for each point, in the order in which the sample was given: the fit without point i. In units
/// of y. O(n) a bandwidth for every kernel, memory O(n).
/// @throws DataError for fewer than two points; ConfigError as check_bandwidth.
std::vector<double> leave_one_out_values(const Sample& sample, const Smoother& smoother, double bandwidth);

/// CV(h) = mean_i (y_i - f_{-i}(x_i))^2 at each bandwidth, in units of y squared.  @throws as
/// leave_one_out_values.
std::vector<double> leave_one_out_errors(const Sample& sample, const Smoother& smoother,
                                         std::span<const double> bandwidths);

struct ErrorAndSlope {
  double error = 0.0;  ///< CV(h)
  double slope = 0.0;  ///< dCV / d ln h = -2 mean_i (y_i - f_i) sum_j p_ij (y_j - f_i) u_ij^2, p = w / sum w
};

/// Of the Gaussian kernel and a constant.  @throws as leave_one_out_values.
ErrorAndSlope gaussian_leave_one_out(const Sample& sample, double bandwidth);

}  // namespace headtorch::regress
