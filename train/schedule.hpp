#pragma once

#include <cstdint>

#include "train/settings/config.hpp"

namespace headtorch::train {

/// Learning rate of optimizer step s = 1..S (S = steps), with w = max(warmup, 1):
///   s <= w          peak * s / w
///   cosine          min + (peak - min) (1 + cos(pi p)) / 2,  p = (s - w) / (S - w), at most 1
///   linear          min + (peak - min) (1 - p)
///   inverse-sqrt    peak * sqrt(w / s)          (Vaswani et al. 2017, eq. 3, is this with peak (d_model
///   w)^-0.5) wsd             peak, then over the last fifth of the steps min + (peak - min) (1 - sqrt(q)), q
///   from 0 to 1 constant        peak
/// Never 0 at s = 1, never negative, also for warmup >= steps and s > steps.
double learning_rate(const TrainOptions& options, std::int64_t step);

}  // namespace headtorch::train
