#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/tasks/task.hpp"
#include "src/tasks/vocabulary.hpp"

namespace headtorch::tasks {

/// Covariance of a function's noisy values: exp(-(x - x')^2 / 2 length^2), and noise_sd^2 more on the
/// diagonal.
struct GaussianProcess {
  double length = 0.0, noise_sd = 0.0;
};

/// y_k less its posterior mean given y_1 .. y_(k-1), for each k: innovations L_kk (L^-1 y)_k, L the Cholesky
/// factor of the covariance at x.
std::vector<double> innovations(const GaussianProcess& process, const std::vector<double>& x,
                                const std::vector<double>& y);

/// Regression in context on functions of one x: points (x_k, y_k), y_k = f(x_k) + noise, f a new function in
/// each example, from a Gaussian process of mean 0 and variance 1 with the covariance exp(-(x - x')^2 / 2
/// l^2). x is uniform in [-2, 2], l in [0.3, 1], the noise's sd in [0.02, 0.2], both new in each example.
/// Position k has x_k and the point before it, its features (x_k, x_(k-1), y_(k-1)); token 0 is the first,
/// which has none before it, and token 1 every other. The value at position k is y_k. So a position is one
/// point with the place that is asked, and no position up to k holds y_k.
/// After Garnelo et al. 2018, arXiv:1807.01622, and Nguyen and Grover 2022, "Transformer neural processes",
/// arXiv:2207.04179, whose ranges (l in [0.1, 0.6], sd of f in [0.1, 1], noise 0.02) are other ones.
class FunctionsTask final : public Task {
 public:
  /// seq_len is the number of points (20), at most 256.  @throws ConfigError for another size.
  FunctionsTask(const TaskOptions& options, std::uint64_t seed);

  const TaskShape& shape() const override { return shape_; }
  /// Its `drawn` are l and the noise's sd.
  Batch batch(Split split, std::int64_t first, std::int64_t count) const override;
  std::int64_t size(Split split) const override;
  std::string token_text(std::int64_t token) const override { return vocabulary_.text(token); }
  std::vector<std::int64_t> parse_tokens(std::string_view input) const override;
  /// Squared errors of the posterior mean given the points before, by an oracle that knows the example's own
  /// l and noise: what reads the points alone must guess these too, and does a little worse.
  std::vector<double> best_losses(const Batch& batch) const override;

 private:
  TaskShape shape_;
  std::uint64_t seed_;
  Vocabulary vocabulary_{0, {"first", "next"}};
};

}  // namespace headtorch::tasks
