#include "src/report/axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace headtorch::report {
namespace {

double mark_step(double span, int most) {
  double power = std::pow(10.0, std::floor(std::log10(span)) - 2.0);
  for (;; power *= 10.0) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (std::floor(span / (factor * power) + 1e-6) + 1.0 <= std::max(most, 2)) return factor * power;
    }
  }
}

/// factor times a power of ten, of a logarithmic axis.
AxisMark decade_mark(int factor, int exponent) {
  constexpr int kLeast = -4, kMost = 5;  // beyond: 1e-5, 2e6
  const double value = factor * std::pow(10.0, exponent);
  return {value, exponent < kLeast || exponent > kMost
                     ? fmt::format("{}e{}", factor, exponent)
                     : fmt::format("{:.{}f}", value, std::max(0, -exponent))};
}

std::vector<AxisMark> decade_marks(const AxisRange& range, const std::vector<int>& factors, int every) {
  constexpr double kSlack = 1e-9;
  const int first = static_cast<int>(std::floor(std::log10(range.low)));
  const int last = static_cast<int>(std::ceil(std::log10(range.high)));
  std::vector<AxisMark> marks;
  for (int exponent = first; exponent <= last; ++exponent) {
    if (exponent % every != 0) continue;
    for (const int factor : factors) {
      AxisMark mark = decade_mark(factor, exponent);
      if (mark.value >= range.low * (1 - kSlack) && mark.value <= range.high * (1 + kSlack))
        marks.push_back(std::move(mark));
    }
  }
  return marks;
}

}  // namespace

AxisRange range_around(const std::vector<double>& values, AxisScale scale) {
  constexpr double kRoom = 0.04, kFarthest = 1e307, kNearest = 1e-300;  // so that no difference is inf or 0
  const bool is_log = scale == AxisScale::kLogarithmic;
  double low = INFINITY, high = -INFINITY;
  for (const double value : values) {
    if (!std::isfinite(value) || (is_log && value < kNearest)) continue;
    low = std::min(low, std::clamp(value, -kFarthest, kFarthest));
    high = std::max(high, std::clamp(value, -kFarthest, kFarthest));
  }
  if (is_log) {
    if (low > high) return {0.1, 1};
    if (!(high > low * (1 + 1e-9))) return {low / 2, high * 2};
    const double room = std::exp(kRoom * (std::log(high) - std::log(low)));
    return {low / room, high * room};
  }
  if (low > high) return {};
  const double room = kRoom * (high - low);
  const double largest = std::max(std::abs(low), std::abs(high));
  // Values that differ by rounding alone count as equal: marks between them could not be told apart.
  if (!(high - low > std::max(kNearest, 1e-9 * largest)))
    return {low - std::max(0.5, 0.1 * largest), high + std::max(0.5, 0.1 * largest)};
  return {low - room, high + room};
}

std::vector<AxisMark> round_marks(const AxisRange& range, int most) {
  const double span = range.high - range.low;
  if (!std::isfinite(span) || !(span > 1e-12 * std::max(std::abs(range.low), std::abs(range.high))))
    return {};
  const double step = mark_step(span, most);
  const auto decimals = static_cast<int>(std::clamp(std::ceil(-std::log10(step) - 1e-9), 0.0, 17.0));
  const double largest = std::max(std::abs(range.low), std::abs(range.high));
  const bool has_exponent = largest >= 1e6 || decimals > 6;
  const int digits =
      std::clamp(static_cast<int>(std::floor(std::log10(largest)) - std::floor(std::log10(step))) + 1, 1, 17);
  std::vector<AxisMark> marks;
  for (double n = std::ceil(range.low / step - 1e-9); n * step <= range.high + 1e-9 * step; n += 1.0) {
    const double value = n == 0.0 ? 0.0 : n * step;
    marks.push_back({value, has_exponent ? fmt::format("{:.{}g}", value, digits)
                                         : fmt::format("{:.{}f}", value, decimals)});
  }
  return marks;
}

std::vector<AxisMark> logarithmic_marks(const AxisRange& range, int most) {
  const auto few = static_cast<std::size_t>(std::max(most, 2));
  std::vector<AxisMark> marks = decade_marks(range, {1, 2, 5}, 1);
  if (marks.size() < 2) return round_marks(range, most);
  for (int every = 1; marks.size() > few; ++every) marks = decade_marks(range, {1}, every);
  return marks.size() < 2 ? round_marks(range, most) : marks;
}

std::vector<AxisMark> marks_of(const AxisRange& range, AxisScale scale, int most) {
  return scale == AxisScale::kLogarithmic ? logarithmic_marks(range, most) : round_marks(range, most);
}

}  // namespace headtorch::report
