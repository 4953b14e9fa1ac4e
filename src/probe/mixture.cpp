#include "src/probe/mixture.hpp"

#include <cmath>

namespace headtorch::probe {

void Mixture::clear() {
  mass_.clear();
  k0_.clear();
  uniform_.clear();
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

double Mixture::loss(double eps) const {
  double sum = unnamed_mass_ > 0.0 ? unnamed_mass_ * std::log(eps) + unnamed_uniform_ : 0.0;
  for (std::size_t i = 0; i < mass_.size(); ++i) {
    sum += mass_[i] * std::log((1.0 - eps) * k0_[i] + eps * uniform_[i]);
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
  return slope;
}

Mixture::Best Mixture::best(double tolerance) const {
  double low = kLeastEps, high = 1.0;
  if (slope(high).first <= 0.0) return {.eps = high, .loss = loss(high)};
  if (slope(low).first >= 0.0) return {.eps = low, .loss = loss(low)};
  // Newton's steps inside a shrinking bracket; where one leaves it, the geometric middle, as eps spans
  // decades.
  double eps = std::sqrt(low * high);
  for (int step = 0; step < 200 && high - low > tolerance * low; ++step) {
    const Slope at = slope(eps);
    (at.first < 0.0 ? low : high) = eps;
    const double next = eps - at.first / at.second;
    if (std::abs(next - eps) <= 0.1 * tolerance * eps) break;
    eps = next > low && next < high ? next : std::sqrt(low * high);
  }
  return {.eps = eps, .loss = loss(eps)};
}

}  // namespace headtorch::probe
