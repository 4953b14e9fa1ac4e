#include <cmath>

#include "src/core/error.hpp"
#include "src/regress/criteria.hpp"
#include "src/regress/data.hpp"
#include "src/regress/leave_one_out.hpp"

namespace headtorch::regress {
namespace {

constexpr const char* kWhere = "regression";
constexpr double kNormal95 = 1.959963984540054;

std::size_t n_rows(const std::vector<Variable>& places) { return rows_of(places.front()); }

/// e_j of HC3; with a single row there is none, and its interval has no width.
std::vector<double> left_out_residuals(const RegressionData& data, DirectFit& fit, const Smoother& smoother,
                                       const std::vector<double>& bandwidth) {
  const auto& y = data.y.numbers;
  if (y.size() < 2) return std::vector<double>(y.size(), 0.0);
  std::vector<double> residuals;
  if (is_plain(data)) {
    residuals = leave_one_out_values(Sample(data.x[0].numbers, y), smoother, bandwidth[0]);
  } else {
    for (std::size_t i = 0; i < y.size(); ++i) {
      fit.at_row(i, Own::kLeftOut);
      residuals.push_back(fit.value());
    }
  }
  for (std::size_t i = 0; i < y.size(); ++i) residuals[i] = y[i] - residuals[i];
  return residuals;
}

}  // namespace

std::vector<Estimate> estimate(const RegressionData& data, const Smoother& smoother,
                               const std::vector<double>& bandwidth, const std::vector<Variable>& places) {
  DirectFit fit(data, smoother);
  fit.kernel().set_bandwidth(bandwidth);
  check_places(data.x, places, kWhere);
  const std::vector<double> residuals = left_out_residuals(data, fit, smoother, bandwidth);
  std::vector<Estimate> estimates;
  for (std::size_t i = 0; i < n_rows(places); ++i) {
    fit.at_place(places, i);
    double variance = 0.0, squares = 0.0;
    for (std::size_t j = 0; j < residuals.size(); ++j) {
      const double part = fit.smoother()[j] * residuals[j], weight = fit.kernel().weights()[j];
      variance += part * part;
      squares += weight * weight;
    }
    const double half = kNormal95 * std::sqrt(variance);
    estimates.push_back({fit.value(), fit.value() - half, fit.value() + half, 1.0 / squares});
  }
  return estimates;
}

std::vector<double> kernel_weights(const RegressionData& data, Kernel kernel,
                                   const std::vector<double>& bandwidth,
                                   const std::vector<Variable>& places) {
  ProductKernel product(data.x, kernel);
  product.set_bandwidth(bandwidth);
  check_places(data.x, places, kWhere);
  std::vector<double> all;
  for (std::size_t i = 0; i < n_rows(places); ++i) {
    product.at_place(places, i);
    all.insert(all.end(), product.weights().begin(),
               product.weights().begin() + static_cast<std::ptrdiff_t>(product.size()));
  }
  return all;
}

}  // namespace headtorch::regress
