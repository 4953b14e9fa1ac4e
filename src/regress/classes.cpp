#include <algorithm>
#include <cmath>

#include "src/core/error.hpp"
#include "src/regress/criteria.hpp"
#include "src/regress/data.hpp"

namespace headtorch::regress {
namespace {

constexpr const char* kWhere = "class probabilities";

/// Weights summed by class.
std::vector<double> shares(const std::vector<double>& weights, const Variable& y) {
  std::vector<double> p(static_cast<std::size_t>(y.n_categories), 0.0);
  for (std::size_t j = 0; j < y.codes.size(); ++j) p[static_cast<std::size_t>(y.codes[j])] += weights[j];
  return p;
}

void check_classes(const RegressionData& data) {
  if (data.y.n_categories == 0) throw ConfigError(kWhere, "an outcome of numbers, expected classes");
  check_data(data, kWhere);
}

/// Mean log loss and accuracy over rows, one row after the other.
class Scores {
 public:
  explicit Scores(std::size_t n_rows) : share_(1.0 / static_cast<double>(n_rows)) {}
  void add(const std::vector<double>& p, std::size_t own) {
    log_loss -= share_ * std::log(std::max(p[own], kLeastProbability));
    const auto best = static_cast<std::size_t>(std::max_element(p.begin(), p.end()) - p.begin());
    accuracy += best == own ? share_ : 0.0;
  }
  double log_loss = 0.0, accuracy = 0.0;

 private:
  double share_;
};

}  // namespace

std::vector<double> class_probabilities(const RegressionData& data, Kernel kernel,
                                        const std::vector<double>& bandwidth,
                                        const std::vector<Variable>& places) {
  check_classes(data);
  ProductKernel product(data.x, kernel);
  product.set_bandwidth(bandwidth);
  check_places(data.x, places, kWhere);
  std::vector<double> all;
  for (std::size_t i = 0; i < rows_of(places.front()); ++i) {
    product.at_place(places, i);
    const std::vector<double> p = shares(product.weights(), data.y);
    all.insert(all.end(), p.begin(), p.end());
  }
  return all;
}

ClassStatistics class_statistics(const RegressionData& data, Kernel kernel,
                                 const std::vector<double>& bandwidth) {
  check_classes(data);
  ProductKernel product(data.x, kernel);
  product.set_bandwidth(bandwidth);
  const std::size_t n = product.size();
  if (n < 2) throw DataError(kWhere, "one row, expected at least two");
  const std::vector<double> counts = shares(std::vector<double>(n, 1.0), data.y);
  ClassStatistics statistics;
  Scores kernels(n), plain(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto own = static_cast<std::size_t>(data.y.codes[i]);
    product.at_row(i, Own::kCounted);
    statistics.effective_df += product.weights()[i];
    product.at_row(i, Own::kLeftOut);
    const std::vector<double> p = shares(product.weights(), data.y);
    statistics.left_out.insert(statistics.left_out.end(), p.begin(), p.end());
    kernels.add(p, own);
    std::vector<double> others = counts;
    others[own] -= 1.0;
    for (double& count : others) count /= static_cast<double>(n - 1);
    plain.add(others, own);
  }
  statistics.log_loss = kernels.log_loss;
  statistics.accuracy = kernels.accuracy;
  statistics.log_loss_of_shares = plain.log_loss;
  statistics.accuracy_of_shares = plain.accuracy;
  return statistics;
}

}  // namespace headtorch::regress
