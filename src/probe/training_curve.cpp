#include "src/probe/training_curve.hpp"

#include <algorithm>
#include <cmath>

namespace headtorch::probe {
namespace {

constexpr std::int64_t kEarlyStep = 150;  // where training reports the heads' health
constexpr std::ptrdiff_t kFewestBefore = 10;

using Losses = std::span<const double>;

/// Of the finite ones; NaN when there are none.
double mean(Losses values) {
  double sum = 0.0;
  std::int64_t n = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    sum += value;
    ++n;
  }
  return n == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(n);
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<std::int64_t> spikes(std::span<const CurveStep> steps) {
  std::vector<std::int64_t> found;
  std::vector<double> before;
  for (const CurveStep& step : steps) {
    if (!std::isfinite(step.grad_norm)) continue;
    const auto window = std::min<std::ptrdiff_t>(std::ssize(before), kSpikeWindow);
    if (window >= kFewestBefore &&
        step.grad_norm > kSpikeFactor * median({before.end() - window, before.end()})) {
      found.push_back(step.step);
    }
    before.push_back(step.grad_norm);
  }
  return found;
}

void find_take_off(std::span<const CurveStep> steps, Losses losses, std::size_t window,
                   TrainingCurve& curve) {
  if (losses.size() < 2 * window) return;
  std::vector<double> means;  // of the window that starts there
  for (std::size_t first = 0; first + window <= losses.size(); ++first) {
    means.push_back(mean(losses.subspan(first, window)));
  }
  std::vector<double> highest_from(means);  // of this and all later windows
  for (std::size_t i = means.size() - 1; i-- > 0;) highest_from[i] = std::fmax(means[i], highest_from[i + 1]);
  double largest = kLeastTakeOff * curve.first_loss;
  for (std::size_t at = window; at < means.size(); ++at) {
    const double from = means[at - window], fall = from - means[at];
    if (!(fall > largest) || highest_from[at] > from - 0.5 * fall) continue;
    largest = fall;
    curve.take_off = steps[at].step;
    curve.take_off_from = from;
    curve.take_off_to = means[at];
  }
}

}  // namespace

TrainingCurve read_curve(std::span<const CurveStep> steps) {
  TrainingCurve curve;
  curve.steps = std::ssize(steps);
  if (steps.empty()) return curve;
  std::vector<double> values;
  std::int64_t clipped = 0;
  for (const CurveStep& step : steps) {
    values.push_back(step.loss);
    clipped += step.clipped ? 1 : 0;
    curve.non_finite_steps += step.non_finite ? 1 : 0;
  }
  curve.clipped_share = static_cast<double>(clipped) / static_cast<double>(curve.steps);
  curve.spikes = spikes(steps);

  const Losses losses(values);
  const std::size_t n = losses.size(), window = std::clamp<std::size_t>(n / 20, 5, 50);
  curve.first_loss = losses.front();
  if (n < window) return curve;
  curve.last_loss = mean(losses.last(window));
  for (std::size_t first = 0; first + window <= n; ++first) {
    curve.highest_loss = std::fmax(curve.highest_loss, mean(losses.subspan(first, window)));
  }
  const auto early = static_cast<std::size_t>(std::count_if(
      steps.begin(), steps.end(), [](const CurveStep& step) { return step.step <= kEarlyStep; }));
  if (steps.back().step >= kEarlyStep && early >= window) {
    curve.early_loss = mean(losses.subspan(early - window, window));
  }
  const std::size_t quarter = n / 4;
  if (quarter >= window) {
    curve.late_fall = 1.0 - mean(losses.last(quarter)) / mean(losses.subspan(n - 2 * quarter, quarter));
  }
  find_take_off(steps, losses, window, curve);
  return curve;
}

}  // namespace headtorch::probe
