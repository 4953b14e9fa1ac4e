#include "src/tasks/regression_task.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "src/core/error.hpp"
#include "src/core/philox.hpp"
#include "src/tasks/draws.hpp"
#include "src/tasks/sizes.hpp"

namespace headtorch::tasks {
namespace {

constexpr std::size_t kDimensions = 5, kFeatures = kDimensions + 1;
constexpr std::int64_t kPoints = 11, kTest = 10000, kValidation = 1000;
constexpr std::uint64_t kStream = 0x7472'0000;  // keeps these draws apart from other uses of the seed

using Vector = std::array<double, kDimensions>;

double dot(const Vector& a, const Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

Vector plus(const Vector& a, double factor, const Vector& b) {
  Vector sum = a;
  for (std::size_t i = 0; i < kDimensions; ++i) sum[i] += factor * b[i];
  return sum;
}

Vector draw_vector(Random& random, double deviation) {
  Vector drawn{};
  for (double& value : drawn) value = deviation * draw_normal(random);
  return drawn;
}

/// Least squares on points of an exact linear function, one more at a time: each adds the part of the
/// solution along what its x has of new directions (Gram-Schmidt), which keeps the norm least.
class LeastSquares {
 public:
  double predict(const Vector& x) const { return dot(w_, x); }
  void add(const Vector& x, double y) {
    Vector rest = x;
    for (int round = 0; round < 2; ++round) {  // twice, as once leaves rounding errors along old directions
      for (const Vector& direction : directions_) rest = plus(rest, -dot(rest, direction), direction);
    }
    const double norm = std::sqrt(dot(rest, rest));
    if (directions_.size() == kDimensions || norm <= 1e-6 * std::sqrt(dot(x, x))) return;
    for (double& value : rest) value /= norm;
    w_ = plus(w_, (y - predict(x)) / norm, rest);
    directions_.push_back(rest);
  }

 private:
  Vector w_{};
  std::vector<Vector> directions_;
};

}  // namespace

RegressionTask::RegressionTask(const TaskOptions& options, std::uint64_t seed) : seed_(seed) {
  check_fixed_size("n_symbols", options.n_symbols, 2);
  const std::int64_t length = size_in_range("seq_len", options.seq_len, 2 * kPoints, 2, kMaxSeqLen);
  if (length % 2 != 0)
    throw ConfigError(
        "task", fmt::format("seq_len = {}: expected an even number, an x and a y for each point", length));
  shape_ = {.name = "regression",
            .reading = Reading::kLeftToRight,
            .n_symbols = 2,
            .n_classes = 1,
            .seq_len = length,
            .n_features = static_cast<std::int64_t>(kFeatures),
            .measure = Measure::kReal,
            .points = {.n_predictors = static_cast<std::int64_t>(kDimensions), .has_intercept = false}};
}

std::int64_t RegressionTask::size(Split split) const {
  if (split == Split::kTrain) return std::numeric_limits<std::int64_t>::max();
  return split == Split::kTest ? kTest : kValidation;
}

Batch RegressionTask::batch(Split split, std::int64_t first, std::int64_t count) const {
  check_examples(*this, split, first, count);
  const auto length = static_cast<std::size_t>(shape_.seq_len), n = static_cast<std::size_t>(count) * length;
  Batch batch;
  batch.examples = count;
  batch.length = shape_.seq_len;
  batch.tokens.resize(n);
  batch.labels.resize(n, kNotCounted);
  batch.values.resize(n, 0.0F);
  batch.features.resize(n * kFeatures, 0.0F);
  for (std::size_t at = 0; at < n; at += length) {
    const std::uint64_t example = static_cast<std::uint64_t>(first) + at / length;
    Random random(seed_, example, kStream + static_cast<std::uint64_t>(split));
    const Vector w = draw_vector(random, 1.0 / std::sqrt(static_cast<double>(kDimensions)));
    for (std::size_t i = at; i < at + length; i += 2) {
      const Vector x = draw_vector(random, 1.0);
      const auto y = static_cast<float>(dot(w, x));
      batch.tokens[i + 1] = 1;
      batch.labels[i] = 0;
      batch.values[i] = y;
      for (std::size_t k = 0; k < kDimensions; ++k)
        batch.features[i * kFeatures + k] = static_cast<float>(x[k]);
      batch.features[(i + 1) * kFeatures + kDimensions] = y;
    }
  }
  return batch;
}

std::vector<std::int64_t> RegressionTask::parse_tokens(std::string_view input) const {
  return vocabulary_.parse(input, shape_.name);
}

std::vector<double> RegressionTask::best_losses(const Batch& batch) const {
  const auto length = static_cast<std::size_t>(batch.length);
  std::vector<double> losses(batch.labels.size(), 0.0);
  for (std::size_t at = 0; at < losses.size(); at += length) {
    LeastSquares solution;
    for (std::size_t i = at; i < at + length; ++i) {
      if (batch.labels[i] == kNotCounted) continue;
      Vector x{};
      for (std::size_t k = 0; k < kDimensions; ++k) x[k] = batch.features[i * kFeatures + k];
      const double error = batch.values[i] - solution.predict(x);
      losses[i] = error * error;
      solution.add(x, batch.values[i]);
    }
  }
  return losses;
}

}  // namespace headtorch::tasks
