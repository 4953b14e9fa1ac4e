#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace headtorch::probe {

/// Seeds from which a 95 % interval is given: the ranges of three against three cannot show a difference (p =
/// 0.10).
inline constexpr std::size_t kSeedsForInterval = 4;

/// mean, range, and the 95 % interval of the mean (Student's t) from kSeedsForInterval values on.
/// All NaN and no interval when a value is not finite.
struct Summary {
  double mean = 0.0, min = 0.0, max = 0.0;
  std::optional<double> low, high;
};

/// @throws ConfigError when there are no values.
Summary summarise(const std::vector<double>& values);

/// t with P(|T| <= t) = 0.95 for Student's T with `degrees` >= 1 degrees of freedom, to 1e-12 relative.
/// From the finite sums of Abramowitz and Stegun 1964, 26.7.3 and 26.7.4.
double student_t_95(std::int64_t degrees);

}  // namespace headtorch::probe
