#include "src/regress/one_place.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headtorch::regress {
namespace {

// A line may hang on the second nearest point, whatever its weight: what is left out must be small beside it.
constexpr double kMostExcess = 60.0, kMostExcessOfLine = 120.0;
constexpr double kLeastVariance = 1e-20;  // of the mean square from the place: below it there is no line
constexpr double kNone = std::numeric_limits<double>::infinity();

}  // namespace

OnePlace::Fit OnePlace::at(double place) {
  const auto right = static_cast<std::size_t>(std::lower_bound(x_.begin(), x_.end(), place) - x_.begin());
  return fit(place, right, right);
}

OnePlace::Fit OnePlace::without(std::size_t i) { return fit(x_[i], i, i + 1); }

double OnePlace::excess(double distance, double nearest) const {
  if (distance == nearest) return 0.0;
  switch (smoother_.kernel) {
    case Kernel::kGaussian:
      return (distance - nearest) / h_ * ((distance + nearest) / h_) / 2;
    case Kernel::kExponential:
      return (distance - nearest) / h_;
    case Kernel::kEpanechnikov:
      return std::log((h_ - nearest) / (h_ - distance)) + std::log((h_ + nearest) / (h_ + distance));
    case Kernel::kBox:
      break;
  }
  return 0.0;
}

bool OnePlace::reaches(double distance, double nearest) const {
  if (distance == nearest) return true;
  switch (smoother_.kernel) {
    case Kernel::kEpanechnikov:
      return distance < h_;
    case Kernel::kBox:
      return distance <= h_;
    default:
      return excess(distance, nearest) <=
             (smoother_.degree == Degree::kConstant ? kMostExcess : kMostExcessOfLine);
  }
}

void OnePlace::gather(double place, std::size_t left, std::size_t right) {
  neighbours_.clear();
  const auto distance_left = [&] { return left == 0 ? kNone : place - x_[left - 1]; };
  const auto distance_right = [&] { return right == x_.size() ? kNone : x_[right] - place; };
  const double nearest = std::min(distance_left(), distance_right());
  origin_ = distance_left() == nearest ? x_[left - 1] : x_[right];
  const auto take = [&](std::size_t j, double distance) {
    const double more = excess(distance, nearest);
    neighbours_.push_back({(x_[j] - origin_) / h_, y_[j], std::exp(-more), more});
  };
  for (; left > 0 && reaches(distance_left(), nearest); --left) take(left - 1, distance_left());
  for (; right < x_.size() && reaches(distance_right(), nearest); ++right) take(right, distance_right());
}

OnePlace::Fit OnePlace::fit(double place, std::size_t left, std::size_t right) {
  gather(place, left, right);
  double s0 = 0.0, s1 = 0.0, t0 = 0.0;
  for (const Neighbour& n : neighbours_) {
    s0 += n.weight;
    s1 += n.weight * n.u;
    t0 += n.weight * n.y;
  }
  Fit result{.value = t0 / s0, .own = 1.0 / s0};
  for (const Neighbour& n : neighbours_) result.squares += n.weight * n.weight / (s0 * s0);
  if (smoother_.degree == Degree::kConstant) {
    for (const Neighbour& n : neighbours_)
      result.slope += 2 * n.weight / s0 * (n.y - result.value) * n.excess;
    return result;
  }
  const double u_mean = s1 / s0, u_place = (place - origin_) / h_ - u_mean;
  double variance = 0.0, covariance = 0.0;
  for (const Neighbour& n : neighbours_) {
    variance += n.weight * (n.u - u_mean) * (n.u - u_mean);
    covariance += n.weight * (n.u - u_mean) * (n.y - result.value);
  }
  if (!(variance > kLeastVariance * (variance + s0 * u_place * u_place))) return result;
  result.value += u_place * covariance / variance;
  result.own += u_place * u_place / variance;
  result.squares = 0.0;
  for (const Neighbour& n : neighbours_)
    result.squares += std::pow(n.weight * (1.0 / s0 + u_place * (n.u - u_mean) / variance), 2);
  return result;
}

}  // namespace headtorch::regress
