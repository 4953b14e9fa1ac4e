#include "src/probe/summary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "src/core/error.hpp"

namespace headtorch::probe {
namespace {

/// P(|T| <= sqrt(degrees) tan(theta)), 0 <= theta < pi/2.
double central_mass(double theta, std::int64_t degrees) {
  const double cos2 = std::cos(theta) * std::cos(theta);
  const bool odd = degrees % 2 == 1;
  double term = odd ? std::cos(theta) : 1.0;
  double sum = degrees == 1 ? 0.0 : term;
  for (std::int64_t power = odd ? 3 : 2; power <= degrees - 2; power += 2) {
    term *= cos2 * static_cast<double>(power - 1) / static_cast<double>(power);
    sum += term;
  }
  const double mass = std::sin(theta) * sum;
  return odd ? (theta + mass) * 2.0 / std::numbers::pi : mass;
}

}  // namespace

double student_t_95(std::int64_t degrees) {
  if (degrees < 1) {
    throw ConfigError("student_t_95", "no degrees of freedom, expected at least 1");
  }
  double low = 0.0, high = std::numbers::pi / 2;
  for (double middle = (low + high) / 2; low < middle && middle < high; middle = (low + high) / 2) {
    (central_mass(middle, degrees) < 0.95 ? low : high) = middle;
  }
  return std::sqrt(static_cast<double>(degrees)) * std::tan(low);
}

Summary summarise(const std::vector<double>& values) {
  if (values.empty()) {
    throw ConfigError("summarise", "no values, expected at least one");
  }
  if (!std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); })) {
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    return {.mean = kNone, .min = kNone, .max = kNone, .low = {}, .high = {}};
  }
  const auto n = static_cast<double>(values.size());
  const auto [min, max] = std::minmax_element(values.begin(), values.end());
  // Rounding must not carry the mean of equal values out of their range.
  const double mean = std::clamp(std::accumulate(values.begin(), values.end(), 0.0) / n, *min, *max);
  Summary summary{.mean = mean, .min = *min, .max = *max, .low = {}, .high = {}};
  if (values.size() >= kSeedsForInterval) {
    double squares = 0.0;
    for (const double value : values) {
      squares += (value - mean) * (value - mean);
    }
    const double half =
        student_t_95(static_cast<std::int64_t>(values.size()) - 1) * std::sqrt(squares / (n - 1) / n);
    summary.low = mean - half;
    summary.high = mean + half;
  }
  return summary;
}

}  // namespace headtorch::probe
