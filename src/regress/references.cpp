#include "src/regress/references.hpp"

#include <Eigen/QR>
#include <algorithm>

#include "src/core/error.hpp"
#include "src/regress/data.hpp"
#include "src/regress/rules.hpp"

namespace headtorch::regress {
namespace {

constexpr const char* kWhere = "references";
constexpr std::size_t kMostNeighbours = 50;
constexpr double kTied = 1 + 1e-12;  // of squared distances

/// Rows of features, in sds of the data. Not centred: whole numbers keep equal distances.
Eigen::MatrixXd features_of(const std::vector<Variable>& x, const std::vector<Variable>& rows) {
  Eigen::Index width = 0;
  for (const Variable& column : x) width += column.n_categories > 0 ? column.n_categories : 1;
  const auto n = static_cast<Eigen::Index>(rows_of(rows.front()));
  Eigen::MatrixXd features = Eigen::MatrixXd::Zero(n, width);
  Eigen::Index at = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (x[k].n_categories > 0) {
      for (Eigen::Index i = 0; i < n; ++i) {
        const std::int64_t code = rows[k].codes[static_cast<std::size_t>(i)];
        if (code >= 0 && code < x[k].n_categories) features(i, at + code) = 1.0;
      }
      at += x[k].n_categories;
      continue;
    }
    const auto& known = x[k].numbers;
    const double sd = varies(x[k]) ? spread_of(known).sd : 0.0;
    for (Eigen::Index i = 0; i < n && sd > 0.0; ++i)
      features(i, at) = rows[k].numbers[static_cast<std::size_t>(i)] / sd;
    ++at;
  }
  return features;
}

Eigen::VectorXd outcome_of(const RegressionData& data) {
  return Eigen::Map<const Eigen::VectorXd>(data.y.numbers.data(),
                                           static_cast<Eigen::Index>(data.y.numbers.size()));
}

void check(const RegressionData& data, const std::vector<Variable>& places) {
  if (data.y.n_categories > 0) throw ConfigError(kWhere, "an outcome of classes, expected numbers");
  check_data(data, kWhere);
  check_places(data.x, places, kWhere);
}

/// Mean y of the k rows nearest to `place`, for k = 1 .. most. Rows as far as the k-th share its place.
std::vector<double> nearest_means(const Eigen::MatrixXd& features, const std::vector<double>& y,
                                  const Eigen::RowVectorXd& place, std::size_t most, Eigen::Index left_out) {
  const Eigen::VectorXd distance = (features.rowwise() - place).rowwise().squaredNorm();
  std::vector<std::pair<double, double>> rows;  // distance, y
  for (Eigen::Index j = 0; j < features.rows(); ++j) {
    if (j != left_out) rows.emplace_back(distance[j], y[static_cast<std::size_t>(j)]);
  }
  std::sort(rows.begin(), rows.end());
  std::vector<double> means;
  double nearer = 0.0;
  for (std::size_t first = 0, stop = 0; means.size() < most && first < rows.size(); first = stop) {
    double tied = 0.0;
    for (; stop < rows.size() && rows[stop].first <= rows[first].first * kTied; ++stop)
      tied += rows[stop].second;
    const auto n_nearer = static_cast<double>(first), n_tied = static_cast<double>(stop - first);
    for (std::size_t k = first + 1; k <= std::min(stop, most); ++k) {
      const auto all = static_cast<double>(k);
      means.push_back((nearer + (all - n_nearer) / n_tied * tied) / all);
    }
    nearer += tied;
  }
  return means;
}

}  // namespace

std::vector<double> mean_values(const RegressionData& data, const std::vector<Variable>& places) {
  check(data, places);
  return std::vector<double>(rows_of(places.front()), outcome_of(data).mean());
}

std::vector<double> least_squares_values(const RegressionData& data, const std::vector<Variable>& places) {
  check(data, places);
  Eigen::MatrixXd known = features_of(data.x, data.x), wanted = features_of(data.x, places);
  const Eigen::RowVectorXd centre = known.colwise().mean();
  known.rowwise() -= centre;
  wanted.rowwise() -= centre;
  const Eigen::VectorXd y = outcome_of(data);
  const double mean = y.mean();
  Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd> solver;
  solver.setThreshold(1e-12);
  solver.compute(known);
  const Eigen::VectorXd slope = solver.solve((y.array() - mean).matrix());
  const Eigen::VectorXd values = (wanted * slope).array() + mean;
  return {values.begin(), values.end()};
}

std::vector<double> least_squares_left_out(const RegressionData& data) {
  check(data, data.x);
  if (rows_of(data.x.front()) < 2) throw DataError(kWhere, "one row, expected at least two");
  Eigen::MatrixXd known = features_of(data.x, data.x);
  const Eigen::Index n = known.rows();
  const Eigen::RowVectorXd centre = known.colwise().mean();
  known.rowwise() -= centre;
  Eigen::ColPivHouseholderQR<Eigen::MatrixXd> solver;
  solver.setThreshold(1e-12);
  solver.compute(known);
  // Columns of q span what 1 and the features can say: leverage is the squared length of a row.
  const Eigen::MatrixXd q = solver.householderQ() * Eigen::MatrixXd::Identity(n, solver.rank());
  const Eigen::VectorXd y = outcome_of(data);
  const double mean = y.mean();
  const Eigen::VectorXd centred = y.array() - mean;
  const Eigen::VectorXd fitted = (q * (q.transpose() * centred)).array() + mean;
  std::vector<double> values;
  for (Eigen::Index i = 0; i < n; ++i) {
    const double leverage = 1.0 / static_cast<double>(n) + q.row(i).squaredNorm();
    if (1.0 - leverage > 1e-9) {
      values.push_back(y[i] - (y[i] - fitted[i]) / (1.0 - leverage));
      continue;
    }
    RegressionData others = data;
    std::vector<Variable> place(data.x.size());
    const auto take_out = [i](Variable& from) {
      Variable out{.n_categories = from.n_categories};
      if (from.n_categories > 0) {
        out.codes = {from.codes[static_cast<std::size_t>(i)]};
        from.codes.erase(from.codes.begin() + i);
      } else {
        out.numbers = {from.numbers[static_cast<std::size_t>(i)]};
        from.numbers.erase(from.numbers.begin() + i);
      }
      return out;
    };
    for (std::size_t k = 0; k < place.size(); ++k) place[k] = take_out(others.x[k]);
    take_out(others.y);
    values.push_back(least_squares_values(others, place).front());
  }
  return values;
}

NearestNeighbours nearest_neighbours(const RegressionData& data, const std::vector<Variable>& places) {
  check(data, places);
  const auto& y = data.y.numbers;
  if (y.size() < 2) throw DataError(kWhere, "one row, expected at least two");
  const Eigen::MatrixXd known = features_of(data.x, data.x), wanted = features_of(data.x, places);
  const std::size_t most = std::min(kMostNeighbours, y.size() - 1);
  std::vector<double> errors(most, 0.0);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    const std::vector<double> means = nearest_means(known, y, known.row(row), most, row);
    for (std::size_t k = 0; k < most; ++k)
      errors[k] += (y[i] - means[k]) * (y[i] - means[k]) / static_cast<double>(y.size());
  }
  const auto best = std::min_element(errors.begin(), errors.end());
  NearestNeighbours result{.k = best - errors.begin() + 1, .cv = *best, .values = {}};
  for (Eigen::Index i = 0; i < wanted.rows(); ++i) {
    result.values.push_back(
        nearest_means(known, y, wanted.row(i), static_cast<std::size_t>(result.k), -1).back());
  }
  return result;
}

}  // namespace headtorch::regress
