#pragma once

#include <cstdint>
#include <span>

namespace headtorch::train {

/// 95 % intervals of root mean squared and mean absolute error.
struct ErrorInterval {
  double rmse_low = 0.0, rmse_high = 0.0, mae_low = 0.0, mae_high = 0.0;
};

/// From the 2.5 % and 97.5 % points of 2,000 samples of as many errors, drawn with repetition in blocks of
/// `block` neighbours (Efron 1979; Kuensch 1989; 1: each alone). It holds the model fixed: what another
/// split or another training would change is not in it. Needs an error at least.
ErrorInterval error_interval(std::span<const double> errors, std::int64_t block);

}  // namespace headtorch::train
