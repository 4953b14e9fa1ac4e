#include "train/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace headtorch::train {
namespace {

constexpr double kDecayShare = 0.2;  // of all steps, wsd

/// 0 before `from`, 1 at `to` and after.
double progress(double step, double from, double to) {
  return std::clamp((step - from) / std::max(to - from, 1.0), 0.0, 1.0);
}

}  // namespace

double learning_rate(const TrainOptions& options, std::int64_t step) {
  const double s = static_cast<double>(step), steps = static_cast<double>(options.steps);
  const double w = static_cast<double>(std::max<std::int64_t>(options.warmup, 1));
  const double peak = options.lr, floor = std::min(options.min_lr, peak);
  if (s <= w) return peak * s / w;
  switch (options.schedule) {
    case Schedule::kCosine:
      return floor + (peak - floor) * (1.0 + std::cos(std::numbers::pi * progress(s, w, steps))) / 2.0;
    case Schedule::kLinear:
      return floor + (peak - floor) * (1.0 - progress(s, w, steps));
    case Schedule::kInverseSqrt:
      return peak * std::sqrt(w / s);
    case Schedule::kWarmupStableDecay: {
      const double decay_from = std::max(w, steps * (1.0 - kDecayShare));
      return floor + (peak - floor) * (1.0 - std::sqrt(progress(s, decay_from, steps)));
    }
    case Schedule::kConstant:
      break;
  }
  return peak;
}

}  // namespace headtorch::train
