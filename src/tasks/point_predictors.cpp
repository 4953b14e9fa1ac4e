#include "src/tasks/point_predictors.hpp"

#include <Eigen/Core>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace headtorch::tasks {
namespace {

constexpr int kBandwidths = 48;
constexpr double kWidest = 2.0, kNarrowest = 1.0 / 200.0;  // of the largest distance
constexpr double kUnderflow = 1e-290;
constexpr Eigen::Index kNearest = 3;

/// Squared distances between all points.
Eigen::MatrixXd squared_distances(const Eigen::Ref<const Eigen::MatrixXd>& x_KN) {
  Eigen::MatrixXd distances(x_KN.cols(), x_KN.cols());
  for (Eigen::Index i = 0; i < x_KN.cols(); ++i)
    distances.col(i) = (x_KN.colwise() - x_KN.col(i)).colwise().squaredNorm();
  return distances;
}

double mean_of_nearest(const Eigen::MatrixXd& distances, const Eigen::VectorXd& y, Eigen::Index k) {
  std::vector<Eigen::Index> order(static_cast<std::size_t>(k));
  std::iota(order.begin(), order.end(), 0);
  const auto n = std::min(k, kNearest);
  std::partial_sort(order.begin(), order.begin() + n, order.end(),
                    [&](Eigen::Index a, Eigen::Index b) { return distances(a, k) < distances(b, k); });
  return std::accumulate(order.begin(), order.begin() + n, 0.0,
                         [&](double sum, Eigen::Index i) { return sum + y[i]; }) /
         static_cast<double>(n);
}

/// Fits at each point from others, of one bandwidth, while points are added.
class RunningFits {
 public:
  RunningFits(const Eigen::MatrixXd& distances, const Eigen::VectorXd& y, double bandwidth)
      : distances_(distances),
        y_(y),
        weights_((distances.array() / (-2.0 * bandwidth * bandwidth)).exp()),
        sums_(Eigen::ArrayXd::Zero(y.size())),
        weight_sums_(sums_),
        nearest_(sums_),
        closest_(Eigen::ArrayXd::Constant(y.size(), std::numeric_limits<double>::infinity())) {}

  /// Point k joins those before it. Its own fit is then from them, theirs from all but themselves.
  void add(Eigen::Index k) {
    for (Eigen::Index i = 0; i < k; ++i) {
      note(i, k);
      note(k, i);
    }
  }
  double fit(Eigen::Index i) const {
    return weight_sums_[i] > kUnderflow ? sums_[i] / weight_sums_[i] : nearest_[i];
  }
  /// Mean over the first k points.
  double left_out_error(Eigen::Index k) const {
    double sum = 0.0;
    for (Eigen::Index i = 0; i < k; ++i) sum += (y_[i] - fit(i)) * (y_[i] - fit(i));
    return sum / static_cast<double>(k);
  }

 private:
  void note(Eigen::Index at, Eigen::Index other) {
    sums_[at] += weights_(other, at) * y_[other];
    weight_sums_[at] += weights_(other, at);
    if (distances_(other, at) >= closest_[at]) return;
    closest_[at] = distances_(other, at);
    nearest_[at] = y_[other];
  }

  const Eigen::MatrixXd& distances_;
  const Eigen::VectorXd& y_;
  Eigen::ArrayXXd weights_;
  Eigen::ArrayXd sums_, weight_sums_, nearest_, closest_;
};

std::vector<double> by_kernel(const Eigen::MatrixXd& distances, const Eigen::VectorXd& y) {
  const Eigen::Index n = y.size();
  const double largest = distances.maxCoeff() > 0.0 ? std::sqrt(distances.maxCoeff()) : 1.0;
  std::vector<double> predictions(static_cast<std::size_t>(n), 0.0),
      least(static_cast<std::size_t>(n), std::numeric_limits<double>::infinity());
  for (int step = 0; step < kBandwidths; ++step) {
    const double share = static_cast<double>(step) / (kBandwidths - 1);
    RunningFits fits(distances, y, largest * kWidest * std::pow(kNarrowest / kWidest, share));
    for (Eigen::Index k = 1; k < n; ++k) {
      const auto at = static_cast<std::size_t>(k);
      // Of one point or two the error is that of any bandwidth.
      const double error = k > 2 ? fits.left_out_error(k) : 0.0;
      fits.add(k);
      if (error >= least[at]) continue;
      least[at] = error;
      predictions[at] = fits.fit(k);
    }
  }
  return predictions;
}

Points points_of(const Task& task, const Batch& batch, std::size_t example) {
  Points points{.n_predictors = task.shape().points.n_predictors, .x = {}, .y = {}};
  const auto length = static_cast<std::size_t>(batch.length);
  for (std::size_t i = example * length; i < (example + 1) * length; ++i) {
    if (batch.labels[i] == kNotCounted) continue;
    const auto features = batch.features.begin() + static_cast<std::ptrdiff_t>(i) * task.shape().n_features;
    points.x.insert(points.x.end(), features, features + points.n_predictors);
    points.y.push_back(batch.values[i]);
  }
  return points;
}

double squared(double value) { return value * value; }

}  // namespace

PointPredictions predict_points(const Points& points, bool has_intercept) {
  const auto n = std::ssize(points.y);
  const Eigen::Map<const Eigen::MatrixXd> x_KN(points.x.data(), points.n_predictors, n);
  const Eigen::VectorXd y = Eigen::Map<const Eigen::VectorXd>(points.y.data(), n);
  const Eigen::MatrixXd distances = squared_distances(x_KN);
  Eigen::MatrixXd rows(n, points.n_predictors + (has_intercept ? 1 : 0));
  rows.leftCols(points.n_predictors) = x_KN.transpose();
  if (has_intercept) rows.rightCols(1).setOnes();

  PointPredictions said{{0.0}, {0.0}, by_kernel(distances, y), {0.0}};
  for (Eigen::Index k = 1; k < n; ++k) {
    said.average.push_back(y.head(k).mean());
    said.nearest_3.push_back(mean_of_nearest(distances, y, k));
    said.least_squares.push_back(
        rows.row(k).dot(rows.topRows(k).completeOrthogonalDecomposition().solve(y.head(k))));
  }
  return said;
}

std::vector<PointErrors> point_errors(const Task& task, Split split, std::int64_t n) {
  const PointsShape& shape = task.shape().points;
  if (shape.n_predictors == 0) return {};
  const Batch batch = task.batch(split, 0, n);
  const std::vector<double> best = task.best_losses(batch);
  std::vector<PointErrors> errors;
  std::size_t position = 0;
  for (std::size_t example = 0; example < static_cast<std::size_t>(n); ++example) {
    const Points points = points_of(task, batch, example);
    const PointPredictions said = predict_points(points, shape.has_intercept);
    errors.resize(points.y.size());
    for (std::size_t k = 0; k < points.y.size(); ++k, ++position) {
      while (batch.labels[position] == kNotCounted) ++position;
      const double y = points.y[k], share = 1.0 / static_cast<double>(n);
      PointErrors& at = errors[k];
      at.k = static_cast<std::int64_t>(k);
      at.nadaraya_watson += share * squared(y - said.nadaraya_watson[k]);
      at.nearest_3 += share * squared(y - said.nearest_3[k]);
      at.average += share * squared(y - said.average[k]);
      at.least_squares += share * squared(y - said.least_squares[k]);
      at.best += share * best[position];
    }
  }
  return errors;
}

}  // namespace headtorch::tasks
