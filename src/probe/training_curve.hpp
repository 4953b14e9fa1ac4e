#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace headtorch::probe {

/// One optimizer step as metrics.jsonl has it; NaN where a number was not finite.
struct CurveStep {
  std::int64_t step = 0;
  double loss = 0.0, grad_norm = 0.0;
  bool clipped = false, non_finite = false;
};

inline constexpr double kSpikeFactor = 5.0;  ///< a norm this many times the running median is a spike
inline constexpr std::int64_t kSpikeWindow =
    50;                                       ///< steps before it whose median counts; at least 10 of them
inline constexpr double kLeastTakeOff = 0.1;  ///< share of the first loss that a take-off must fall by

/// What a training looks like from its steps. Losses are means over windows of w = steps / 20 steps, 5 to 50:
/// single batches are noise. NaN where there are too few steps, or none finite.
struct TrainingCurve {
  std::int64_t steps = 0;
  double first_loss = std::numeric_limits<double>::quiet_NaN();    ///< of the first step
  double early_loss = std::numeric_limits<double>::quiet_NaN();    ///< the w steps up to step 150
  double last_loss = std::numeric_limits<double>::quiet_NaN();     ///< the last w steps
  double highest_loss = std::numeric_limits<double>::quiet_NaN();  ///< of all windows
  /// 1 - mean of the last quarter / mean of the quarter before: what more steps may still bring.
  double late_fall = std::numeric_limits<double>::quiet_NaN();
  /// The step s at which the mean over s-w .. s-1 less the mean over s .. s+w-1 is largest, among those after
  /// which no window comes back to half of that fall; none when the fall is below kLeastTakeOff of the first
  /// loss.
  std::optional<std::int64_t> take_off;
  double take_off_from = 0.0, take_off_to = 0.0;  ///< those two means
  std::vector<std::int64_t> spikes;               ///< steps
  double clipped_share = 0.0;
  std::int64_t non_finite_steps = 0;
};

/// @param steps  in order.
TrainingCurve read_curve(std::span<const CurveStep> steps);

}  // namespace headtorch::probe
