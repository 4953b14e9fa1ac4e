#include "models/sampling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "src/core/error.hpp"

namespace headtorch::models {
namespace {

constexpr std::string_view kWhere = "models.sampling";

/// The first of the largest logits.
std::size_t most_probable(std::span<const double> logits) {
  for (std::size_t token = 0; token < logits.size(); ++token) {
    if (std::isnan(logits[token]) || logits[token] == std::numeric_limits<double>::infinity()) {
      throw DataError(kWhere, fmt::format("the logit of token {} is {}: expected a number, the model's "
                                          "weights are damaged or its training diverged",
                                          token, logits[token]));
    }
  }
  const auto top = std::max_element(logits.begin(), logits.end());
  if (top == logits.end() || std::isinf(*top))
    throw DataError(kWhere, fmt::format("none of {} logits is finite, expected one", logits.size()));
  return static_cast<std::size_t>(top - logits.begin());
}

void divide_by_sum(std::vector<double>& weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;
}

}  // namespace

void check(const SamplingOptions& options) {
  if (!(options.temperature >= 0.0) || std::isinf(options.temperature)) {
    throw ConfigError("temperature",
                      fmt::format("is {}, expected a finite number >= 0", options.temperature));
  }
  if (options.top_k && *options.top_k < 1)
    throw ConfigError("top_k", fmt::format("is {}, expected 1 or more", *options.top_k));
  if (!(options.top_p > 0.0 && options.top_p <= 1.0))
    throw ConfigError("top_p", fmt::format("is {}, expected a number above 0, at most 1", options.top_p));
}

std::vector<double> probabilities(std::span<const double> logits, const SamplingOptions& options) {
  check(options);
  const std::size_t top = most_probable(logits), n = logits.size();
  std::vector<double> result(n, 0.0);
  if (options.temperature == 0.0) {
    result[top] = 1.0;
    return result;
  }
  // Differences first: a quotient of the logits themselves may overflow.
  const auto weight = [&](double logit) { return std::exp((logit - logits[top]) / options.temperature); };
  std::transform(logits.begin(), logits.end(), result.begin(), weight);
  if (options.top_k || options.top_p < 1.0) {
    const std::size_t k =
        options.top_k && *options.top_k < std::ssize(logits) ? static_cast<std::size_t>(*options.top_k) : n;
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto kept = order.begin() + static_cast<std::ptrdiff_t>(k);
    std::partial_sort(order.begin(), kept, order.end(), [&](std::size_t a, std::size_t b) {
      return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
    });
    std::for_each(kept, order.end(), [&](std::size_t token) { result[token] = 0.0; });
    divide_by_sum(result);
    double before = 0.0;
    std::for_each(order.begin(), kept, [&](std::size_t token) {
      const double own = result[token];
      if (before >= options.top_p) result[token] = 0.0;
      before += own;
    });
  }
  divide_by_sum(result);
  return result;
}

double log_probability(std::span<const double> logits, std::int64_t token) {
  const double top = logits[most_probable(logits)];
  const double sum = std::accumulate(logits.begin(), logits.end(), 0.0, [top](double so_far, double logit) {
    return so_far + std::exp(logit - top);
  });
  return logits[static_cast<std::size_t>(token)] - top - std::log(sum);
}

std::int64_t sample(std::span<const double> probabilities, Random& random) {
  const double drawn = random.uniform();
  double sum = 0.0;
  std::int64_t last = 0;  // answers for a sum that rounding left below 1
  for (std::int64_t token = 0; token < std::ssize(probabilities); ++token) {
    const double probability = probabilities[static_cast<std::size_t>(token)];
    if (probability <= 0.0) continue;
    last = token;
    sum += probability;
    if (drawn < sum) break;
  }
  return last;
}

}  // namespace headtorch::models
