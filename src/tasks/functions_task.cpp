#include "src/tasks/functions_task.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <cmath>
#include <limits>

#include "src/core/philox.hpp"
#include "src/tasks/draws.hpp"
#include "src/tasks/sizes.hpp"

namespace headtorch::tasks {
namespace {

constexpr std::size_t kFeatures = 3, kDrawn = 2;
constexpr std::int64_t kPoints = 20, kMostPoints = 256, kTest = 10000, kValidation = 1000;
constexpr std::uint64_t kStream = 0x6770'0000;  // keeps these draws apart from other uses of the seed

double uniform(Random& random, double low, double high) { return low + (high - low) * random.uniform(); }

Eigen::MatrixXd cholesky_factor(const GaussianProcess& process, const std::vector<double>& x) {
  const Eigen::Map<const Eigen::ArrayXd> place(x.data(), std::ssize(x));
  Eigen::MatrixXd covariance(place.size(), place.size());
  for (Eigen::Index i = 0; i < place.size(); ++i)
    covariance.col(i) = (-0.5 * ((place - place[i]) / process.length).square()).exp();
  covariance.diagonal().array() += process.noise_sd * process.noise_sd;
  return covariance.llt().matrixL();
}

}  // namespace

std::vector<double> innovations(const GaussianProcess& process, const std::vector<double>& x,
                                const std::vector<double>& y) {
  const Eigen::MatrixXd factor = cholesky_factor(process, x);
  const Eigen::Map<const Eigen::VectorXd> values(y.data(), std::ssize(y));
  const Eigen::VectorXd left =
      factor.triangularView<Eigen::Lower>().solve(values).cwiseProduct(factor.diagonal());
  return {left.begin(), left.end()};
}

FunctionsTask::FunctionsTask(const TaskOptions& options, std::uint64_t seed) : seed_(seed) {
  check_fixed_size("n_symbols", options.n_symbols, 2);
  const std::int64_t points = size_in_range("seq_len", options.seq_len, kPoints, 1, kMostPoints);
  shape_ = {.name = "functions",
            .reading = Reading::kLeftToRight,
            .n_symbols = 2,
            .n_classes = 1,
            .seq_len = points,
            .n_features = static_cast<std::int64_t>(kFeatures),
            .measure = Measure::kReal,
            .points = {.n_predictors = 1, .has_intercept = true}};
}

std::int64_t FunctionsTask::size(Split split) const {
  if (split == Split::kTrain) return std::numeric_limits<std::int64_t>::max();
  return split == Split::kTest ? kTest : kValidation;
}

Batch FunctionsTask::batch(Split split, std::int64_t first, std::int64_t count) const {
  check_examples(*this, split, first, count);
  const auto length = static_cast<std::size_t>(shape_.seq_len), n = static_cast<std::size_t>(count) * length;
  Batch batch;
  batch.examples = count;
  batch.length = shape_.seq_len;
  batch.tokens.resize(n, 1);
  batch.labels.resize(n, 0);
  batch.values.resize(n);
  batch.features.resize(n * kFeatures, 0.0F);
  for (std::size_t at = 0; at < n; at += length) {
    const std::uint64_t example = static_cast<std::uint64_t>(first) + at / length;
    Random random(seed_, example, kStream + static_cast<std::uint64_t>(split));
    const GaussianProcess process = {uniform(random, 0.3, 1.0), uniform(random, 0.02, 0.2)};
    batch.drawn.insert(batch.drawn.end(), {process.length, process.noise_sd});
    std::vector<double> x(length);
    Eigen::VectorXd normal(shape_.seq_len);
    // As float32, which is what best_losses reads of it.
    for (double& place : x) place = static_cast<float>(uniform(random, -2.0, 2.0));
    for (double& value : normal) value = draw_normal(random);
    const Eigen::VectorXd y = cholesky_factor(process, x) * normal;
    batch.tokens[at] = 0;
    for (std::size_t k = 0; k < length; ++k) {
      float* features = batch.features.data() + (at + k) * kFeatures;
      features[0] = static_cast<float>(x[k]);
      batch.values[at + k] = static_cast<float>(y[static_cast<Eigen::Index>(k)]);
      if (k == 0) continue;
      features[1] = static_cast<float>(x[k - 1]);
      features[2] = batch.values[at + k - 1];
    }
  }
  return batch;
}

std::vector<std::int64_t> FunctionsTask::parse_tokens(std::string_view input) const {
  return vocabulary_.parse(input, shape_.name);
}

std::vector<double> FunctionsTask::best_losses(const Batch& batch) const {
  const auto length = static_cast<std::size_t>(batch.length);
  std::vector<double> losses;
  for (std::size_t example = 0; example < static_cast<std::size_t>(batch.examples); ++example) {
    std::vector<double> x, y;
    for (std::size_t i = example * length; i < (example + 1) * length; ++i) {
      x.push_back(batch.features[i * kFeatures]);
      y.push_back(batch.values[i]);
    }
    const double* drawn = batch.drawn.data() + example * kDrawn;
    for (const double error : innovations({drawn[0], drawn[1]}, x, y)) losses.push_back(error * error);
  }
  return losses;
}

}  // namespace headtorch::tasks
