#include "train/row_references.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/regress/references.hpp"
#include "src/regress/regression.hpp"
#include "src/regress/row_weights.hpp"
#include "src/regress/rules.hpp"

namespace headtorch::train {
namespace {

using regress::RegressionData;
using regress::Variable;

constexpr std::size_t kMostRows = 1024;  // as many as a model knows

/// Features of some rows as models read them, a variable a column.
std::vector<Variable> features_of(const tasks::Rows& rows, const std::vector<std::size_t>& which) {
  std::vector<Variable> columns(rows.features.size());
  for (const std::size_t row : which) {
    const auto x = rows.x_of(row);
    for (std::size_t k = 0; k < x.size(); ++k) {
      const tasks::Scaling& scaling = rows.x_scaling[k];
      columns[k].numbers.push_back(scaling.sd > 0.0 ? (x[k] - scaling.mean) / scaling.sd : 0.0);
    }
  }
  return columns;
}

/// The last of the known rows when there are many: all of a table's are alike, and of a series they are the
/// nearest in time.
RegressionData known(const tasks::Rows& rows) {
  std::vector<std::size_t> which = rows.known;
  if (which.size() > kMostRows) which.erase(which.begin(), which.end() - kMostRows);
  RegressionData data;
  data.x = features_of(rows, which);
  for (const std::size_t row : which) data.y.numbers.push_back(rows.y[row]);
  return data;
}

std::vector<double> smooth(const RegressionData& data, const std::vector<double>& bandwidth,
                           const std::vector<Variable>& places) {
  return regress::weighted_means(regress::kernel_weights(data, regress::Kernel::kGaussian, bandwidth, places),
                                 data.y.numbers);
}

/// h standard deviations of each column: those of a series share one scaling, and differ a little. A constant
/// column may have any bandwidth.
std::vector<double> in_each_column(double h, const RegressionData& data) {
  std::vector<double> bandwidth;
  for (const Variable& column : data.x) {
    const double sd = regress::spread_of(column.numbers).sd;
    bandwidth.push_back(sd > 0.0 ? h * sd : 1.0);
  }
  return bandwidth;
}

std::vector<double> values_of(const std::vector<double>& x, std::size_t width, std::size_t column,
                              const std::vector<std::size_t>& which) {
  std::vector<double> values;
  for (const std::size_t row : which) values.push_back(x[row * width + column]);
  return values;
}

double mean_square(const tasks::Rows& rows, const std::vector<std::size_t>& which,
                   const std::vector<double>& predicted) {
  double sum = 0.0;
  for (std::size_t i = 0; i < which.size(); ++i) sum += std::pow(rows.y[which[i]] - predicted[i], 2);
  return sum / static_cast<double>(which.size());
}

}  // namespace

RowErrors errors_of(const tasks::Rows& rows, const std::vector<double>& predicted) {
  const auto n = static_cast<double>(rows.test.size());
  double absolute = 0.0, mean = 0.0, spread = 0.0;
  for (std::size_t i = 0; i < rows.test.size(); ++i) {
    absolute += std::abs(rows.y[rows.test[i]] - predicted[i]);
    mean += rows.y[rows.test[i]] / n;
  }
  for (const std::size_t row : rows.test) spread += std::pow(rows.y[row] - mean, 2);
  const double squares = mean_square(rows, rows.test, predicted) * n;
  return {std::sqrt(squares / n), absolute / n,
          spread > 0.0 ? 1.0 - squares / spread : std::numeric_limits<double>::quiet_NaN()};
}

double common_bandwidth(const tasks::Rows& rows) {
  const double h =
      regress::choose_common_bandwidth(known(rows), regress::Kernel::kGaussian).bandwidth.front();
  return std::min(h, 1e6);
}

std::vector<RowReference> table_references(const tasks::Rows& rows) {
  const RegressionData data = known(rows);
  const std::vector<Variable> places = features_of(rows, rows.test);
  std::vector<RowReference> all;
  const auto add = [&](std::string name, std::string choice, const std::vector<double>& predicted) {
    all.push_back({std::move(name), std::move(choice), errors_of(rows, predicted)});
  };
  add("mean", "", regress::mean_values(data, places));
  add("linear", "", regress::least_squares_values(data, places));
  const regress::NearestNeighbours nearest = regress::nearest_neighbours(data, places);
  add("k nearest", fmt::format("k {}", nearest.k), nearest.values);
  const double h = common_bandwidth(rows);
  add("Nadaraya-Watson, one bandwidth", fmt::format("h {:.3g}", h),
      smooth(data, in_each_column(h, data), places));
  if (data.x.size() > 1)
    add("Nadaraya-Watson, one bandwidth a column", "",
        smooth(data, regress::choose_bandwidth(data, {}, {}).bandwidth, places));
  return all;
}

std::vector<RowReference> series_references(const tasks::Rows& rows, const SeriesSteps& steps) {
  const std::size_t width = rows.features.size();
  std::vector<RowReference> all;
  all.push_back({"last value", "", errors_of(rows, values_of(rows.x, width, 0, rows.test))});
  // The value `season` steps before the one asked is lag season - horizon + 1.
  const std::int64_t given = steps.season - steps.horizon + 1;
  std::size_t best = 0;
  if (given >= 1 && given <= static_cast<std::int64_t>(width)) {
    best = static_cast<std::size_t>(given) - 1;
  } else {
    std::vector<double> squares;
    for (std::size_t k = 0; k < width; ++k)
      squares.push_back(mean_square(rows, rows.known, values_of(rows.x, width, k, rows.known)));
    // The last value has a line of its own.
    const auto first = squares.begin() + (width > 1 ? 1 : 0);
    best = static_cast<std::size_t>(std::min_element(first, squares.end()) - squares.begin());
  }
  if (best > 0) {
    all.push_back({"last value a season before",
                   fmt::format("{} steps", static_cast<std::int64_t>(best) + steps.horizon),
                   errors_of(rows, values_of(rows.x, width, best, rows.test))});
  }
  for (RowReference& reference : table_references(rows)) {
    if (reference.name == "linear") reference.name = "linear on lags";
    all.push_back(std::move(reference));
  }
  return all;
}

}  // namespace headtorch::train
