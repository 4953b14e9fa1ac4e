#include <cmath>
#include <limits>
#include <numeric>

#include "src/core/error.hpp"
#include "src/regress/criteria.hpp"
#include "src/regress/data.hpp"
#include "src/regress/in_sample.hpp"
#include "src/regress/leave_one_out.hpp"

namespace headtorch::regress {
namespace {

constexpr const char* kWhere = "regression";

struct BothTraces {
  double first = 0.0, of_squares = 0.0;
};

/// Fills fitted and left_out.
BothTraces fit_plain(const RegressionData& data, const Smoother& smoother, double bandwidth,
                     RegressionStatistics& statistics) {
  const Sample sample(data.x[0].numbers, data.y.numbers);
  const InSample fit = in_sample(sample, smoother, bandwidth, Traces::kBoth);
  statistics.fitted.resize(sample.size());
  for (std::size_t i = 0; i < sample.size(); ++i)
    statistics.fitted[sample.order()[i]] = fit.fitted[i] + sample.y_mean();
  statistics.left_out = leave_one_out_values(sample, smoother, bandwidth);
  return {fit.trace, fit.trace_of_squares};
}

BothTraces fit_directly(const RegressionData& data, const Smoother& smoother,
                        const std::vector<double>& bandwidth, RegressionStatistics& statistics) {
  DirectFit fit(data, smoother);
  fit.kernel().set_bandwidth(bandwidth);
  BothTraces traces;
  for (std::size_t i = 0; i < fit.size(); ++i) {
    fit.at_row(i, Own::kCounted);
    statistics.fitted.push_back(fit.value());
    traces.first += fit.smoother()[i];
    for (const double l : fit.smoother()) traces.of_squares += l * l;
    fit.at_row(i, Own::kLeftOut);
    statistics.left_out.push_back(fit.value());
  }
  return traces;
}

}  // namespace

RegressionStatistics regression_statistics(const RegressionData& data, const Smoother& smoother,
                                           const std::vector<double>& bandwidth) {
  check_data(data, kWhere);
  if (data.y.n_categories > 0) throw ConfigError(kWhere, "an outcome of classes, expected one of numbers");
  if (bandwidth.size() != data.x.size()) throw ConfigError(kWhere, "expected one bandwidth a column");
  const auto& y = data.y.numbers;
  if (y.size() < 2) throw DataError(kWhere, "one row, expected at least two");
  RegressionStatistics statistics;
  const BothTraces traces = is_plain(data) ? fit_plain(data, smoother, bandwidth[0], statistics)
                                           : fit_directly(data, smoother, bandwidth, statistics);
  const auto n = static_cast<double>(y.size());
  double mean = 0.0;
  for (const double value : y) mean += value / n;
  double of_y = 0.0, of_fit = 0.0, shared = 0.0, errors = 0.0, errors_left_out = 0.0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double dy = y[i] - mean, df = statistics.fitted[i] - mean;
    of_y += dy * dy;
    of_fit += df * df;
    shared += dy * df;
    errors += std::pow(y[i] - statistics.fitted[i], 2);
    errors_left_out += std::pow(y[i] - statistics.left_out[i], 2);
  }
  statistics.cv = errors_left_out / n;
  statistics.rmse_loo = std::sqrt(statistics.cv);
  statistics.loo_r2 = 1 - errors_left_out / of_y;
  statistics.r2 = 1 - errors / of_y;
  // Below this the fit is one number but for rounding, which correlates with anything.
  constexpr double kLeastSpread = 1e-24;
  statistics.r2_corr = of_fit > kLeastSpread * of_y ? shared * shared / (of_y * of_fit) : std::nan("");
  statistics.effective_df = traces.first;
  statistics.aicc = corrected_aic(errors / n, traces.first, y.size());
  const double freedom = n - 2 * traces.first + traces.of_squares;
  statistics.residual_sd =
      freedom > 0.0 ? std::sqrt(errors / freedom) : std::numeric_limits<double>::quiet_NaN();
  return statistics;
}

}  // namespace headtorch::regress
