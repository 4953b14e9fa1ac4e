#include "src/regress/in_sample.hpp"

#include <cmath>
#include <limits>

#include "src/regress/local_sums.hpp"
#include "src/regress/one_place.hpp"

namespace headtorch::regress {
namespace {

// As in smooth.cpp: below this share the variance has lost digits.
constexpr double kLeastVarianceShare = 0.1;

struct Sums {
  const LocalSums& plain;
  const LocalSums* squared;  ///< none under Traces::kFirst
};

/// None where the sums have lost digits.
std::optional<OnePlace::Fit> from_sums(const Sums& sums, std::size_t i, Degree degree) {
  const LocalSums& s = sums.plain;
  const LocalSums* q = sums.squared;
  if (!(s.s0[i] > s.least_s0[i]) || (q && !(q->s0[i] > q->least_s0[i]))) return {};
  OnePlace::Fit fit{.value = s.t0[i] / s.s0[i], .own = 1.0 / s.s0[i]};
  if (q) fit.squares = q->s0[i] / (s.s0[i] * s.s0[i]);
  if (degree == Degree::kConstant || s.s2[i] == 0.0) return fit;
  const double u_mean = s.s1[i] / s.s0[i], variance = s.s2[i] - u_mean * s.s1[i];
  if (!(variance > kLeastVarianceShare * s.s2[i])) return {};
  fit.value -= u_mean * (s.t1[i] - u_mean * s.t0[i]) / variance;
  fit.own += u_mean * u_mean / variance;
  // l_j = w_j (own - slope u_j)
  const double slope = u_mean / variance;
  if (q)
    fit.squares = fit.own * fit.own * q->s0[i] - 2 * fit.own * slope * q->s1[i] + slope * slope * q->s2[i];
  return fit;
}

}  // namespace

InSample in_sample(const Sample& sample, const Smoother& smoother, double bandwidth, Traces traces) {
  check_bandwidth(bandwidth, "regression");
  const SumsRequest request{
      .sample = &sample,
      .bandwidth = bandwidth,
      .places = sample.x(),
      .own = Own::kCounted,
      .moments = smoother.degree == Degree::kConstant ? Moments::kZeroth : Moments::kAll};
  const LocalSums plain = local_sums(request, smoother.kernel);
  std::optional<LocalSums> squared;
  if (traces == Traces::kBoth) squared = squared_sums(request, smoother.kernel);
  OnePlace one_place(sample, smoother, bandwidth);
  InSample result;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    auto fit = from_sums({plain, squared ? &*squared : nullptr}, i, smoother.degree);
    if (!fit) fit = one_place.at(sample.x()[i]);
    result.fitted.push_back(fit->value);
    result.trace += fit->own;
    result.trace_of_squares += fit->squares;
  }
  if (traces == Traces::kFirst) result.trace_of_squares = std::numeric_limits<double>::quiet_NaN();
  return result;
}

std::optional<double> corrected_aic(double mean_square, double trace, std::size_t n) {
  const auto rows = static_cast<double>(n);
  if (!(trace + 2 < rows)) return {};
  return std::log(mean_square) + (1 + trace / rows) / (1 - (trace + 2) / rows);
}

}  // namespace headtorch::regress
