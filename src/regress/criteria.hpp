#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/regress/direct_fit.hpp"

namespace headtorch::regress {

/// Internal to this layer: what a bandwidth is chosen by, for any columns. O(n^2 d).
struct Score {
  double value = 0.0;         ///< infinity where there is none
  std::vector<double> slope;  ///< d value / d ln h_k, unless not wanted
};

enum class Slopes { kNone, kAll };  ///< kAll: Gaussian and exponential only

/// mean (y_i - f_{-i}(x_i))^2
Score squared_error(DirectFit& fit, std::span<const double> bandwidth, Slopes slopes);

/// AICc, see in_sample.hpp.
Score aicc(DirectFit& fit, std::span<const double> bandwidth, Slopes slopes);

/// -mean ln p_{-i}(class of row i), p at least kLeastProbability.
Score log_loss(ProductKernel& kernel, std::span<const std::int64_t> classes,
               std::span<const double> bandwidth, Slopes slopes);

}  // namespace headtorch::regress
