#include "src/regress/leave_one_out.hpp"

#include "src/core/error.hpp"
#include "src/regress/one_place.hpp"
#include "src/regress/smooth.hpp"

namespace headtorch::regress {
namespace {

constexpr const char* kWhere = "leave-one-out";

SumsRequest checked(const Sample& sample, double bandwidth) {
  if (sample.size() < 2) throw DataError(kWhere, "one point, expected at least two");
  check_bandwidth(bandwidth, kWhere);
  return {.sample = &sample, .bandwidth = bandwidth, .places = sample.x(), .own = Own::kLeftOut};
}

}  // namespace

std::vector<double> leave_one_out_values(const Sample& sample, const Smoother& smoother, double bandwidth) {
  const std::vector<double> sorted = smooth(checked(sample, bandwidth), smoother);
  std::vector<double> values(sorted.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) values[sample.order()[i]] = sorted[i] + sample.y_mean();
  return values;
}

std::vector<double> leave_one_out_errors(const Sample& sample, const Smoother& smoother,
                                         std::span<const double> bandwidths) {
  std::vector<double> errors;
  for (const double bandwidth : bandwidths) {
    const std::vector<double> values = smooth(checked(sample, bandwidth), smoother);
    double sum = 0.0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double residual = sample.y()[i] - values[i];
      sum += residual * residual;
    }
    errors.push_back(sum / static_cast<double>(values.size()));
  }
  return errors;
}

ErrorAndSlope gaussian_leave_one_out(const Sample& sample, double bandwidth) {
  SumsRequest request = checked(sample, bandwidth);
  request.moments = Moments::kAll;
  const LocalSums sums = gaussian_sums(request);
  OnePlace one_place(sample, {.kernel = Kernel::kGaussian, .degree = Degree::kConstant}, bandwidth);
  ErrorAndSlope total;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    OnePlace::Fit fit;
    if (sums.s0[i] > sums.least_s0[i]) {
      fit.value = sums.t0[i] / sums.s0[i];
      fit.slope = (sums.t2[i] - fit.value * sums.s2[i]) / sums.s0[i];
    } else {
      fit = one_place.without(i);
    }
    const double residual = sample.y()[i] - fit.value;
    total.error += residual * residual;
    total.slope -= 2 * residual * fit.slope;
  }
  total.error /= static_cast<double>(sample.size());
  total.slope /= static_cast<double>(sample.size());
  return total;
}

}  // namespace headtorch::regress
