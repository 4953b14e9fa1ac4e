#include "src/probe/mixture.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/probe/sums.hpp"

namespace headtorch::probe {

void Mixture::clear() {
  mass_.clear();
  k0_.clear();
  uniform_.clear();
  rows_.clear();
  rooms_.clear();
  unnamed_mass_ = unnamed_uniform_ = 0.0;
}

void Mixture::add(double mass, double k0, double uniform) {
  if (!(mass > 0.0)) return;
  if (k0 > 0.0) {
    mass_.push_back(mass);
    k0_.push_back(k0);
    uniform_.push_back(uniform);
  } else {
    unnamed_mass_ += mass;
    unnamed_uniform_ += mass * std::log(uniform);
  }
}

std::size_t Mixture::room(std::size_t size) {
  const std::size_t start = rooms_.size();
  rooms_.resize(start + size);
  return start;
}

double Mixture::loss(double eps) const {
  double sum = unnamed_mass_ > 0.0 ? unnamed_mass_ * std::log(eps) + unnamed_uniform_ : 0.0;
  for (std::size_t i = 0; i < mass_.size(); ++i) {
    sum += mass_[i] * std::log((1.0 - eps) * k0_[i] + eps * uniform_[i]);
  }
  for (const Row& row : rows_) {
    sum += row.weight * log_sum(row.mass, k0_of(row), (1.0 - eps) * row.scale, eps * row.uniform);
  }
  return -sum;
}

Mixture::Slope Mixture::slope(double eps) const {
  Slope slope{.first = -unnamed_mass_ / eps, .second = unnamed_mass_ / (eps * eps)};
  for (std::size_t i = 0; i < mass_.size(); ++i) {
    const double change = uniform_[i] - k0_[i];
    const double ratio = change / (k0_[i] + eps * change);
    slope.first -= mass_[i] * ratio;
    slope.second += mass_[i] * ratio * ratio;
  }
  for (const Row& row : rows_) {
    const RatioSums sums =
        ratio_sums(row.mass, k0_of(row), {.scale = row.scale, .uniform = row.uniform, .eps = eps});
    slope.first -= row.weight * sums.first;
    slope.second += row.weight * sums.second;
  }
  return slope;
}

Mixture::Best Mixture::best(double tolerance, double start) const {
  // Newton's steps inside a shrinking bracket. A step out of it asks about the end it points to, once, and
  // goes on from the geometric middle, as eps spans decades.
  double low = kLeastEps, high = 1.0;
  bool low_holds = false, high_holds = false;
  double eps = std::clamp(start, low, high);
  for (int step = 0; step < 100 && high - low > tolerance * low; ++step) {
    const Slope at = slope(eps);
    if (at.second == 0.0) return {.eps = high, .loss = loss(high)};  // K0 is U itself
    if (at.first == 0.0) break;
    (at.first < 0.0 ? low : high) = eps;
    (at.first < 0.0 ? low_holds : high_holds) = true;
    const double next = eps - at.first / at.second;
    if (next > low && next < high) {
      const double moved = std::abs(next - eps);
      const double before = std::exchange(eps, next);
      // The error left is of the order of the step's square.
      if (moved <= 0.1 * std::sqrt(tolerance) * before) break;
      continue;
    }
    if (at.first > 0.0 && !low_holds) {
      if (slope(low).first >= 0.0) return {.eps = low, .loss = loss(low)};
      low_holds = true;
    }
    if (at.first < 0.0 && !high_holds) {
      if (slope(high).first <= 0.0) return {.eps = high, .loss = loss(high)};
      high_holds = true;
    }
    eps = std::sqrt(low * high);
  }
  return {.eps = eps, .loss = loss(eps)};
}

}  // namespace headtorch::probe
