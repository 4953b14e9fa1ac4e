#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "src/core/philox.hpp"
#include "src/regress/kernel.hpp"

// Kernel regression straight from its definition, in long double, one place at a time.

namespace headtorch::test {

struct Points {
  std::vector<double> x, y;

  double range() const {
    const auto [least, greatest] = std::minmax_element(x.begin(), x.end());
    return *greatest - *least;
  }
};

/// K at |x_j - x| = `distance`, over what it is for the nearest point.
inline long double naive_weight(regress::Kernel kernel, double distance, double nearest, double h) {
  const long double d = distance, first = nearest, width = h;
  switch (kernel) {
    case regress::Kernel::kGaussian:
      return std::exp(-(d - first) * (d + first) / (2 * width * width));
    case regress::Kernel::kExponential:
      return std::exp(-(d - first) / width);
    case regress::Kernel::kEpanechnikov:
      return distance < h ? (width - d) * (width + d) / (width * width) : 0.0L;
    case regress::Kernel::kBox:
      return distance <= h ? 1.0L : 0.0L;
  }
  return 0.0L;
}

/// f(place); without point `left_out` of the sample, if there is one.
inline double naive_fit(const Points& points, const regress::Smoother& smoother, double h, double place,
                        std::optional<std::size_t> left_out = {}) {
  const std::size_t n = points.x.size();
  const auto distance = [&](std::size_t j) { return std::abs(points.x[j] - place); };
  double nearest = std::numeric_limits<double>::infinity();
  for (std::size_t j = 0; j < n; ++j) {
    if (j != left_out) nearest = std::min(nearest, distance(j));
  }
  std::vector<long double> weight(n);
  long double s0 = 0, s1 = 0, s2 = 0, t0 = 0;
  const auto sum_up = [&](auto weight_of) {
    for (std::size_t j = 0; j < n; ++j) {
      weight[j] = j == left_out ? 0 : weight_of(j);
      const long double u = (static_cast<long double>(points.x[j]) - place) / h;
      s0 += weight[j];
      s1 += weight[j] * u;
      s2 += weight[j] * u * u;
      t0 += weight[j] * points.y[j];
    }
  };
  sum_up([&](std::size_t j) { return naive_weight(smoother.kernel, distance(j), nearest, h); });
  if (s0 == 0) sum_up([&](std::size_t j) { return distance(j) == nearest ? 1.0L : 0.0L; });
  const long double mean = t0 / s0, u_mean = s1 / s0;
  if (smoother.degree == regress::Degree::kConstant) return static_cast<double>(mean);
  long double variance = 0, covariance = 0;
  for (std::size_t j = 0; j < n; ++j) {
    const long double u = (static_cast<long double>(points.x[j]) - place) / h;
    variance += weight[j] * (u - u_mean) * (u - u_mean);
    covariance += weight[j] * (u - u_mean) * (points.y[j] - mean);
  }
  return static_cast<double>(variance > 1e-20L * s2 ? mean - u_mean * covariance / variance : mean);
}

inline std::vector<double> naive_leave_one_out(const Points& points, const regress::Smoother& smoother,
                                               double h) {
  std::vector<double> values;
  for (std::size_t i = 0; i < points.x.size(); ++i)
    values.push_back(naive_fit(points, smoother, h, points.x[i], i));
  return values;
}

inline double mean_square(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum / static_cast<double>(a.size());
}

inline double normal(Random& random) {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - random.uniform()));
  return radius * std::cos(6.283185307179586 * random.uniform());
}

/// y = sin(7 x) and noise, at the x that `place` draws.
template <class Place>
Points noisy_points(std::size_t n, Place place) {
  Random random(7, 0);
  Points points;
  for (std::size_t i = 0; i < n; ++i) {
    points.x.push_back(place(random, i));
    points.y.push_back(std::sin(7.0 * points.x.back()) + 0.3 * normal(random));
  }
  return points;
}

}  // namespace headtorch::test
