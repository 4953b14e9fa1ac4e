#include "src/probe/softmax_limits.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace headtorch::probe {
namespace {

struct Neighbours {
  double yes = 0.0, no = 0.0;
};

/// The two neighbouring numbers between which `holds` changes.
Neighbours where_it_ends(const NumberFormat& format, double yes, double no,
                         const std::function<bool(double)>& holds) {
  for (;;) {
    const double middle = format.rounded((yes + no) / 2.0);
    if (middle == yes || middle == no) return {yes, no};
    (holds(middle) ? yes : no) = middle;
  }
}

}  // namespace

double NumberFormat::rounded(double value) const {
  if (!std::isfinite(value) || value == 0.0) return value;
  int exponent = 0;
  std::frexp(value, &exponent);  // |value| in [2^(exponent-1), 2^exponent)
  const double spacing = std::ldexp(1.0, std::max(exponent - digits, lowest_exponent));
  const double nearest = std::nearbyint(value / spacing) * spacing;
  if (std::abs(nearest) < std::ldexp(1.0, highest_exponent + 1)) return nearest;
  return std::copysign(std::numeric_limits<double>::infinity(), value);
}

std::vector<NumberFormat> number_formats() {
  return {{.name = "float32", .digits = 24, .lowest_exponent = -149, .highest_exponent = 127},
          {.name = "bfloat16", .digits = 8, .lowest_exponent = -133, .highest_exponent = 127},
          {.name = "float16", .digits = 11, .lowest_exponent = -24, .highest_exponent = 15}};
}

std::vector<double> softmax_in(const NumberFormat& format, const std::vector<double>& scores, Shift shift) {
  const double taken = shift == Shift::kRowMaximum ? *std::max_element(scores.begin(), scores.end()) : 0.0;
  std::vector<double> weights;
  double sum = 0.0;
  for (const double score : scores) {
    weights.push_back(format.rounded(std::exp(format.rounded(score - taken))));
    sum = format.rounded(sum + weights.back());
  }
  for (double& weight : weights) weight = format.rounded(weight / sum);
  return weights;
}

SoftmaxLimits find_softmax_limits(const NumberFormat& format) {
  const auto exp_in = [&](double score) { return format.rounded(std::exp(score)); };
  const Neighbours high =
      where_it_ends(format, 0.0, 1024.0, [&](double score) { return std::isfinite(exp_in(score)); });
  const Neighbours low =
      where_it_ends(format, 0.0, -1024.0, [&](double score) { return exp_in(score) > 0.0; });
  SoftmaxLimits limits{.format = format.name, .largest = high.yes, .next = high.no, .smallest = low.yes};
  limits.scores = {high.no, format.rounded(high.no - 1.0), 0.0};
  limits.naive = softmax_in(format, limits.scores, Shift::kNone);
  limits.safe = softmax_in(format, limits.scores, Shift::kRowMaximum);
  limits.low_scores = {low.no, format.rounded(low.no - 1.0), format.rounded(low.no - 2.0)};
  limits.low_naive = softmax_in(format, limits.low_scores, Shift::kNone);
  limits.low_safe = softmax_in(format, limits.low_scores, Shift::kRowMaximum);
  return limits;
}

}  // namespace headtorch::probe
