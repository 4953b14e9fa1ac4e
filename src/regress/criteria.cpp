#include "src/regress/criteria.hpp"

#include <cmath>
#include <limits>

#include "src/regress/in_sample.hpp"
#include "src/regress/lane_sums.hpp"

namespace headtorch::regress {
namespace {

std::vector<double> zeros(std::size_t n) { return std::vector<double>(n, 0.0); }

}  // namespace

// df/d ln h = sum_j l_j e_j d ln w_j / d ln h: e of the constant or the line, whose normal equations take
// away all other terms.
Score squared_error(DirectFit& fit, std::span<const double> bandwidth, Slopes slopes) {
  fit.kernel().set_bandwidth(bandwidth);
  const std::size_t n = fit.size();
  Score score;
  if (slopes == Slopes::kAll) score.slope = zeros(bandwidth.size());
  std::vector<double> c = zeros(fit.residuals().size());
  for (std::size_t i = 0; i < n; ++i) {
    fit.at_row(i, Own::kLeftOut);
    const double residual = fit.y(i) - fit.value();
    score.value += residual * residual / static_cast<double>(n);
    if (slopes == Slopes::kNone) continue;
    const double factor = -2 * residual / static_cast<double>(n);
    multiply(c.data(), fit.smoother().data(), fit.residuals().data(), c.size(), factor);
    fit.kernel().add_slopes(c, score.slope);
  }
  return score;
}

// dl_ii/d ln h = l_ii d ln w_i / d ln h - sum_j l_j^2 (w_i / w_j) d ln w_j / d ln h.
Score aicc(DirectFit& fit, std::span<const double> bandwidth, Slopes slopes) {
  fit.kernel().set_bandwidth(bandwidth);
  const std::size_t n = fit.size();
  std::vector<double> mean_square_slope = zeros(bandwidth.size()), trace_slope = mean_square_slope;
  std::vector<double> c = zeros(fit.residuals().size());
  double mean_square = 0.0, trace = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    fit.at_row(i, Own::kCounted);
    const double residual = fit.y(i) - fit.value();
    mean_square += residual * residual / static_cast<double>(n);
    trace += fit.smoother()[i];
    if (slopes == Slopes::kNone) continue;
    const double factor = -2 * residual / static_cast<double>(n);
    multiply(c.data(), fit.smoother().data(), fit.residuals().data(), c.size(), factor);
    fit.kernel().add_slopes(c, mean_square_slope);
    const auto& weights = fit.kernel().weights();
    for (std::size_t j = 0; j < c.size(); ++j) {
      const double l = fit.smoother()[j];
      c[j] = weights[j] > 0.0 ? -l * l * (weights[i] / weights[j]) : 0.0;
    }
    c[i] += fit.smoother()[i];
    fit.kernel().add_slopes(c, trace_slope);
  }
  const auto value = corrected_aic(mean_square, trace, n);
  Score score{.value = value.value_or(std::numeric_limits<double>::infinity()), .slope = {}};
  if (slopes == Slopes::kNone) return score;
  const auto rows = static_cast<double>(n);
  const double room = 1 - (trace + 2) / rows;
  const double by_trace = ((1 - 2 / rows + 1) / rows) / (room * room);
  for (std::size_t k = 0; k < bandwidth.size(); ++k)
    score.slope.push_back(value ? mean_square_slope[k] / mean_square + by_trace * trace_slope[k] : 0.0);
  return score;
}

Score log_loss(ProductKernel& kernel, std::span<const std::int64_t> classes,
               std::span<const double> bandwidth, Slopes slopes) {
  kernel.set_bandwidth(bandwidth);
  const std::size_t n = kernel.size();
  Score score;
  if (slopes == Slopes::kAll) score.slope = zeros(bandwidth.size());
  std::vector<double> c = zeros(kernel.weights().size());
  for (std::size_t i = 0; i < n; ++i) {
    kernel.at_row(i, Own::kLeftOut);
    const auto& weights = kernel.weights();
    double p = 0.0;
    for (std::size_t j = 0; j < n; ++j) p += classes[j] == classes[i] ? weights[j] : 0.0;
    score.value -= std::log(std::max(p, kLeastProbability)) / static_cast<double>(n);
    if (slopes == Slopes::kNone || p <= kLeastProbability) continue;
    for (std::size_t j = 0; j < n; ++j)
      c[j] = weights[j] * (1.0 - (classes[j] == classes[i] ? 1.0 / p : 0.0)) / static_cast<double>(n);
    kernel.add_slopes(c, score.slope);
  }
  return score;
}

}  // namespace headtorch::regress
