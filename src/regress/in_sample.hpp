#pragma once

#include <optional>
#include <vector>

#include "src/regress/kernel.hpp"
#include "src/regress/sample.hpp"

namespace headtorch::regress {

/// Internal to this layer: the fit at the points themselves, by the sample's order. S is the smoother's
/// matrix, fitted = S y.
struct InSample {
  std::vector<double> fitted;     ///< y as in Sample::y()
  double trace = 0.0;             ///< tr S
  double trace_of_squares = 0.0;  ///< tr S S'; NaN unless asked for
};

/// Which traces are needed.
enum class Traces { kFirst, kBoth };

/// O(n).  @throws ConfigError as check_bandwidth.
InSample in_sample(const Sample& sample, const Smoother& smoother, double bandwidth, Traces traces);

/// ln mse + (1 + tr/n) / (1 - (tr+2)/n); absent where tr + 2 >= n. Minus infinity for a perfect fit.
/// Source: Hurvich, Simonoff and Tsai 1998.
std::optional<double> corrected_aic(double mean_square, double trace, std::size_t n);

}  // namespace headtorch::regress
