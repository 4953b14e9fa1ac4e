#pragma once

#include <span>
#include <vector>

#include "src/regress/kernel.hpp"
#include "src/regress/sample.hpp"

namespace headtorch::regress {

/// f at each of m places, in their order, in units of y. Finite at any distance from the points. O(n + m) for
/// every kernel, and O(m log m) to sort the places.
/// @throws DataError for a place that is not finite; ConfigError as check_bandwidth.
std::vector<double> kernel_regression(const Sample& sample, const Smoother& smoother, double bandwidth,
                                      std::span<const double> places);

}  // namespace headtorch::regress
