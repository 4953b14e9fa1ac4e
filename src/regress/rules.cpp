#include "src/regress/rules.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "src/core/error.hpp"

namespace headtorch::regress {

Spread spread_of(std::span<const double> values) {
  if (values.empty()) throw DataError("bandwidth", "no values, expected at least one");
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const auto n = static_cast<double>(sorted.size());
  double mean = 0.0, square = 0.0;
  for (const double value : sorted) mean += value / n;
  for (const double value : sorted) square += (value - mean) * (value - mean) / n;
  const auto quantile = [&](double share) {
    const double at = share * (n - 1);
    const auto below = static_cast<std::size_t>(at);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
  };
  std::vector<double> gaps;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i] > sorted[i - 1]) gaps.push_back(sorted[i] - sorted[i - 1]);
  }
  Spread spread{.sd = std::sqrt(square),
                .range = sorted.back() - sorted.front(),
                .interquartile = quantile(0.75) - quantile(0.25)};
  if (!gaps.empty()) {
    const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
    std::nth_element(gaps.begin(), middle, gaps.end());
    spread.median_gap = *middle;
  }
  return spread;
}

double canonical_factor(Kernel kernel) {
  const auto canonical = [](double square_integral, double variance) {
    return std::pow(square_integral / (variance * variance), 0.2);
  };
  const double gaussian = canonical(0.5 / std::sqrt(std::acos(-1.0)), 1.0);
  switch (kernel) {
    case Kernel::kGaussian:
      return 1.0;
    case Kernel::kExponential:
      return canonical(0.25, 2.0) / gaussian;
    case Kernel::kEpanechnikov:
      return canonical(0.6, 0.2) / gaussian;
    case Kernel::kBox:
      return canonical(0.5, 1.0 / 3.0) / gaussian;
  }
  return 1.0;
}

double rule_of_thumb(std::span<const double> values, std::size_t n_columns, Kernel kernel) {
  const Spread spread = spread_of(values);
  const auto n = static_cast<double>(values.size());
  double s = n > 1 ? spread.sd * std::sqrt(n / (n - 1)) : spread.sd;
  if (spread.interquartile > 0.0) s = std::min(s, spread.interquartile / 1.349);
  return 1.06 * s * std::pow(n, -1.0 / (4.0 + static_cast<double>(n_columns))) * canonical_factor(kernel);
}

}  // namespace headtorch::regress
