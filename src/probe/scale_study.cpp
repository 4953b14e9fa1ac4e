#include "src/probe/scale_study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "src/core/error.hpp"
#include "src/probe/normal_draws.hpp"
#include "src/probe/parallel.hpp"

namespace headtorch::probe {
namespace {

constexpr std::size_t kChunk = 50;  // rows that a thread draws at once

std::size_t as_size(std::int64_t n) { return static_cast<std::size_t>(n); }

/// Scores of `keys` keys in each row, from draws that depend on the row's number alone.
class Rows {
 public:
  Rows(std::int64_t d, std::int64_t keys, const ScaleStudyOptions& options)
      : keys_(as_size(keys)), scores_(as_size(options.samples) * keys_) {
    const std::size_t rows = as_size(options.samples);
    for_each_index((rows + kChunk - 1) / kChunk, [&](std::size_t chunk) {
      std::vector<float> q(as_size(d)), k(as_size(d));
      for (std::size_t row = chunk * kChunk; row < std::min(rows, (chunk + 1) * kChunk); ++row) {
        Random random(options.seed, static_cast<std::uint64_t>(d), row);
        fill_normal(random, q);
        for (std::size_t key = 0; key < keys_; ++key) {
          fill_normal(random, k);
          scores_[row * keys_ + key] = std::inner_product(q.begin(), q.end(), k.begin(), 0.0);
        }
      }
    });
  }

  /// The scores of the first n keys.
  std::span<const double> row(std::size_t row, std::size_t n) const {
    return std::span(scores_).subspan(row * keys_, n);
  }

 private:
  std::size_t keys_;
  std::vector<double> scores_;
};

Estimate median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const double middle = static_cast<double>(values.size() - 1) / 2.0,
               reach = std::sqrt(static_cast<double>(values.size())) / 2.0;
  const auto at = [&](double rank) {
    return values[as_size(std::llround(std::clamp(rank, 0.0, 2.0 * middle)))];
  };
  const double below = values[as_size(static_cast<std::int64_t>(std::floor(middle)))],
               above = values[as_size(static_cast<std::int64_t>(std::ceil(middle)))];
  return {(below + above) / 2.0, (at(middle + reach) - at(middle - reach)) / 2.0};
}

Sharpness sharpness(const Rows& rows, std::size_t samples, std::size_t n, double factor) {
  std::vector<double> entropy, max_weight, norm, trace, saturated, scores(n);
  for (std::size_t i = 0; i < samples; ++i) {
    const auto row = rows.row(i, n);
    std::transform(row.begin(), row.end(), scores.begin(), [&](double score) { return score * factor; });
    const RowSharpness one = row_sharpness(scores);
    entropy.push_back(one.entropy);
    max_weight.push_back(one.max_weight);
    norm.push_back(one.jacobian_norm);
    trace.push_back(one.jacobian_trace);
    saturated.push_back(one.max_weight > kSaturated ? 1.0 : 0.0);
  }
  return {.entropy = estimate(entropy),
          .max_weight = estimate(max_weight),
          .jacobian_norm = estimate(norm),
          .jacobian_trace = estimate(trace),
          .jacobian_median = median(norm),
          .saturated = estimate(saturated)};
}

/// Rows are independent, the scores of one row are not: they share |q|.
Estimate score_sd(const Rows& rows, std::size_t samples, std::size_t n) {
  std::vector<double> squares;
  for (std::size_t i = 0; i < samples; ++i) {
    const auto row = rows.row(i, n);
    squares.push_back(std::inner_product(row.begin(), row.end(), row.begin(), 0.0) / static_cast<double>(n));
  }
  const Estimate variance = estimate(squares);
  const double sd = std::sqrt(variance.mean);
  return {sd, variance.se / (2.0 * sd)};
}

}  // namespace

Estimate estimate(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  const double squares = std::accumulate(values.begin(), values.end(), 0.0, [&](double sum, double value) {
    return sum + (value - mean) * (value - mean);
  });
  return {mean, std::sqrt(squares / (n - 1.0) / n)};
}

RowSharpness row_sharpness(std::span<const double> scores) {
  const double largest = *std::max_element(scores.begin(), scores.end());
  double sum = 0.0, weighted = 0.0, squares = 0.0, cubes = 0.0;
  for (const double score : scores) {
    const double e = std::exp(score - largest);
    sum += e;
    weighted += e * (score - largest);
    squares += e * e;
    cubes += e * e * e;
  }
  squares /= sum * sum;
  cubes /= sum * sum * sum;
  RowSharpness row;
  row.entropy = std::log(sum) - weighted / sum;
  row.max_weight = 1.0 / sum;
  row.jacobian_norm = std::sqrt(std::max(0.0, squares - 2.0 * cubes + squares * squares));
  row.jacobian_trace = 1.0 - squares;
  return row;
}

std::vector<ScalePoint> study_scale(const ScaleStudyOptions& options) {
  if (options.samples < 2)
    throw ConfigError("scale", fmt::format("samples = {}, expected at least 2", options.samples));
  const std::int64_t most = *std::max_element(options.keys.begin(), options.keys.end());
  const std::size_t samples = as_size(options.samples);
  std::vector<std::vector<ScalePoint>> by_keys(options.keys.size());
  for (const std::int64_t d : options.widths) {
    const Rows rows(d, most, options);
    for (std::size_t i = 0; i < options.keys.size(); ++i) {
      const std::size_t n = as_size(options.keys[i]);
      by_keys[i].push_back({.d = d,
                            .n = options.keys[i],
                            .score_sd = score_sd(rows, samples, n),
                            .unscaled = sharpness(rows, samples, n, 1.0),
                            .scaled = sharpness(rows, samples, n, 1.0 / std::sqrt(static_cast<double>(d)))});
    }
  }
  std::vector<ScalePoint> points;
  for (const auto& part : by_keys) points.insert(points.end(), part.begin(), part.end());
  return points;
}

}  // namespace headtorch::probe
