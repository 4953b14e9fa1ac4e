#include "src/regress/row_weights.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headtorch::regress {

std::vector<double> softmax_rows(std::span<const double> scores, std::size_t columns, double temperature) {
  std::vector<double> weights(scores.begin(), scores.end());
  for (std::size_t first = 0; first < weights.size(); first += columns) {
    const std::span row = std::span(weights).subspan(first, columns);
    const double largest = *std::max_element(row.begin(), row.end());
    for (double& weight : row) weight = std::exp((weight - largest) / temperature);
    const double sum = std::accumulate(row.begin(), row.end(), 0.0);
    for (double& weight : row) weight /= sum;
  }
  return weights;
}

Sharpness sharpness(std::span<const double> weights, std::size_t columns) {
  Sharpness mean;
  const double rows = static_cast<double>(weights.size()) / static_cast<double>(columns);
  for (std::size_t first = 0; first < weights.size(); first += columns) {
    double entropy = 0, squares = 0;
    for (const double weight : weights.subspan(first, columns)) {
      if (weight > 0) entropy -= weight * std::log(weight);
      squares += weight * weight;
    }
    mean.entropy += entropy / rows;
    mean.effective_n += 1 / squares / rows;
  }
  return mean;
}

std::vector<double> weighted_means(std::span<const double> weights, std::span<const double> y) {
  std::vector<double> means;
  for (std::size_t first = 0; first < weights.size(); first += y.size())
    means.push_back(
        std::inner_product(y.begin(), y.end(), weights.begin() + static_cast<std::ptrdiff_t>(first), 0.0));
  return means;
}

}  // namespace headtorch::regress
