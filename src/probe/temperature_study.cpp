#include "src/probe/temperature_study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "src/core/error.hpp"
#include "src/probe/normal_draws.hpp"
#include "src/probe/parallel.hpp"

namespace headtorch::probe {
namespace {

using Feature = std::function<float(float)>;

/// Of weights proportional to feature(q) . feature(k).
double linear_entropy(const std::vector<float>& q, const std::vector<float>& k, const Feature& feature) {
  std::vector<float> of_q(q.size());
  std::transform(q.begin(), q.end(), of_q.begin(), feature);
  double sum = 0.0, weighted = 0.0;
  for (std::size_t key = 0; key < k.size() / q.size(); ++key) {
    double weight = 0.0;
    for (std::size_t i = 0; i < q.size(); ++i) weight += of_q[i] * feature(k[key * q.size() + i]);
    sum += weight;
    if (weight > 0.0) weighted += weight * std::log(weight);
  }
  return sum > 0.0 ? std::log(sum) - weighted / sum : 0.0;
}

double softmax_entropy(const std::vector<float>& q, const std::vector<float>& k, double factor) {
  std::vector<double> scores;
  for (auto key = k.begin(); key != k.end(); key += std::ssize(q))
    scores.push_back(factor * std::inner_product(q.begin(), q.end(), key, 0.0));
  return row_sharpness(scores).entropy;
}

float elu_plus_one(float x) { return x > 0.0F ? 1.0F + x : std::exp(x); }

}  // namespace

TemperatureStudy study_temperature(const TemperatureOptions& options) {
  if (options.samples < 2)
    throw ConfigError("scale", fmt::format("samples = {}, expected at least 2", options.samples));
  const auto samples = static_cast<std::size_t>(options.samples), n_points = options.temperatures.size();
  const auto d = static_cast<std::size_t>(options.d), n = static_cast<std::size_t>(options.n);
  const double root = std::sqrt(static_cast<double>(options.d));
  std::vector<std::vector<double>> softmax(n_points, std::vector<double>(samples)), linear = softmax;
  std::vector<double> limit(samples);
  for_each_index(samples, [&](std::size_t sample) {
    std::vector<float> q(d), k(n * d);
    Random random(options.seed, static_cast<std::uint64_t>(options.d), sample);
    fill_normal(random, q);
    fill_normal(random, k);
    for (std::size_t i = 0; i < n_points; ++i) {
      const double s = 1.0 / (options.temperatures[i] * root);
      const auto root_s = static_cast<float>(std::sqrt(s));
      softmax[i][sample] = softmax_entropy(q, k, s);
      linear[i][sample] = linear_entropy(q, k, [&](float x) { return elu_plus_one(root_s * x); });
    }
    limit[sample] = linear_entropy(q, k, [](float x) { return std::max(x, 0.0F); });
  });
  TemperatureStudy study{.d = options.d, .n = options.n, .points = {}, .linear_limit = estimate(limit)};
  for (std::size_t i = 0; i < n_points; ++i)
    study.points.push_back({options.temperatures[i], estimate(softmax[i]), estimate(linear[i])});
  return study;
}

}  // namespace headtorch::probe
