#include "src/regress/smooth.hpp"

#include <optional>

#include "src/regress/one_place.hpp"

namespace headtorch::regress {
namespace {

// The variance of the points around their mean comes from a difference. Below this share of their mean square
// from the place (a line drawn out by over three standard deviations) it is computed from the points.
constexpr double kLeastVarianceShare = 0.1;

/// None where the sums have lost digits.
std::optional<double> from_sums(const LocalSums& sums, std::size_t i, Degree degree) {
  if (!(sums.s0[i] > sums.least_s0[i])) return {};
  const double mean = sums.t0[i] / sums.s0[i];
  if (degree == Degree::kConstant || sums.s2[i] == 0.0) return mean;
  const double u_mean = sums.s1[i] / sums.s0[i];
  const double variance = sums.s2[i] - u_mean * sums.s1[i];
  if (!(variance > kLeastVarianceShare * sums.s2[i])) return {};
  return mean - u_mean * (sums.t1[i] - u_mean * sums.t0[i]) / variance;
}

}  // namespace

std::vector<double> smooth(const SumsRequest& request, const Smoother& smoother) {
  SumsRequest needed = request;
  needed.moments = smoother.degree == Degree::kConstant ? Moments::kZeroth : Moments::kAll;
  const LocalSums sums = local_sums(needed, smoother.kernel);
  OnePlace one_place(*request.sample, smoother, request.bandwidth);
  std::vector<double> values(request.places.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = from_sums(sums, i, smoother.degree);
    values[i] = value                          ? *value
                : request.own == Own::kCounted ? one_place.at(request.places[i]).value
                                               : one_place.without(i).value;
  }
  return values;
}

}  // namespace headtorch::regress
