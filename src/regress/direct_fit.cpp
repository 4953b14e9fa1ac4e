#include "src/regress/direct_fit.hpp"

#include <Eigen/QR>
#include <algorithm>
#include <cmath>

#include "src/core/error.hpp"
#include "src/regress/data.hpp"
#include "src/regress/lane_sums.hpp"

namespace headtorch::regress {
namespace {

constexpr const char* kWhere = "regression";
constexpr double kLeastWeight = 1e-200;
constexpr double kLeastSpread = 1e-10;  // its square is that of kernel.hpp

}  // namespace

DirectFit::DirectFit(const RegressionData& data, const Smoother& smoother)
    : kernel_(data.x, smoother.kernel), degree_(smoother.degree), y_(data.y.numbers) {
  if (data.y.n_categories > 0) throw ConfigError(kWhere, "an outcome of classes, expected one of numbers");
  check_data(data, kWhere);
  for (std::size_t k = 0; k < data.x.size(); ++k) {
    if (data.x[k].n_categories == 0) numbers_.push_back(k);
  }
  residuals_.resize(kernel_.weights().size());
  centred_.resize(residuals_.size());
  for (const double value : y_) y_mean_ += value / static_cast<double>(y_.size());
  for (std::size_t j = 0; j < y_.size(); ++j) centred_[j] = y_[j] - y_mean_;
}

void DirectFit::at_row(std::size_t i, Own own) {
  kernel_.at_row(i, own);
  fit();
}

void DirectFit::at_place(const std::vector<Variable>& places, std::size_t i) {
  kernel_.at_place(places, i);
  fit();
}

void DirectFit::fit() {
  smoother_ = kernel_.weights();
  value_ = y_mean_ + dot(smoother_.data(), centred_.data(), smoother_.size());
  for (std::size_t j = 0; j < y_.size(); ++j) residuals_[j] = y_[j] - value_;
  if (degree_ == Degree::kLinear && !numbers_.empty()) fit_line();
}

void DirectFit::fit_line() {
  const auto& weights = kernel_.weights();
  const std::size_t nearest =
      static_cast<std::size_t>(std::max_element(weights.begin(), weights.end()) - weights.begin());
  std::vector<std::size_t> rows;
  for (std::size_t j = 0; j < y_.size(); ++j) {
    if (weights[j] > kLeastWeight) rows.push_back(j);
  }
  const auto n = static_cast<Eigen::Index>(rows.size()), d = static_cast<Eigen::Index>(numbers_.size());
  // Differences from the nearest row, which keep their digits far from the place.
  Eigen::MatrixXd u(n, d);
  Eigen::VectorXd weight(n), residual(n), place(d);
  for (Eigen::Index k = 0; k < d; ++k) {
    const std::size_t column = numbers_[static_cast<std::size_t>(k)];
    place[k] = -kernel_.distance(nearest, column);
    for (Eigen::Index j = 0; j < n; ++j)
      u(j, k) = kernel_.difference(rows[static_cast<std::size_t>(j)], nearest, column);
  }
  for (Eigen::Index j = 0; j < n; ++j) {
    weight[j] = weights[rows[static_cast<std::size_t>(j)]];
    residual[j] = residuals_[rows[static_cast<std::size_t>(j)]];
  }
  const Eigen::RowVectorXd mean = weight.transpose() * u;
  u.rowwise() -= mean;
  place -= mean.transpose();
  const Eigen::VectorXd root = weight.cwiseSqrt();
  const Eigen::MatrixXd weighted = root.asDiagonal() * u;
  Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd> solver;
  const double spread = weighted.norm(), reach = std::hypot(spread, place.norm());
  if (!(spread > kLeastSpread * reach) || !std::isfinite(reach)) return;
  const double largest = weighted.colwise().norm().maxCoeff();
  solver.setThreshold(std::min(0.5, kLeastSpread * reach / largest));
  solver.compute(weighted);
  // place . slope = place . pinv(weighted) (root residual): l from the transposed inverse, never formed.
  const Eigen::VectorXd shares = solver.transpose().solve(place);
  const Eigen::VectorXd l = root.cwiseProduct(shares);
  const Eigen::VectorXd slope = solver.solve(root.cwiseProduct(residual));
  value_ += place.dot(slope);
  residual -= u * slope;
  for (Eigen::Index j = 0; j < n; ++j) {
    smoother_[rows[static_cast<std::size_t>(j)]] += l[j];
    residuals_[rows[static_cast<std::size_t>(j)]] = residual[j];
  }
}

}  // namespace headtorch::regress
