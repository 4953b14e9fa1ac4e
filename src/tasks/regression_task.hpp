#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/tasks/task.hpp"
#include "src/tasks/vocabulary.hpp"

namespace headtorch::tasks {

/// Linear regression in context: x_1, y_1, x_2, y_2, ... with x ~ N(0, I) of 5 features and y = w.x, where w
/// ~ N(0, I/5) is new in each example: predicting 0 costs a squared error of 1. Token 0 stands for an x,
/// whose features are x and a 0; token 1 for a y, whose features are five 0 and y. The label of x_k is y_k.
/// Garg et al. 2022, "What can transformers learn in-context?", arXiv:2208.01066.
class RegressionTask final : public Task {
 public:
  /// seq_len is twice the number of points (11).  @throws ConfigError for an odd one or another size.
  RegressionTask(const TaskOptions& options, std::uint64_t seed);

  const TaskShape& shape() const override { return shape_; }
  Batch batch(Split split, std::int64_t first, std::int64_t count) const override;
  std::int64_t size(Split split) const override;
  std::string token_text(std::int64_t token) const override { return vocabulary_.text(token); }
  std::vector<std::int64_t> parse_tokens(std::string_view input) const override;
  /// Squared errors of least squares on the points before, the one of least norm while they are fewer than
  /// the features: the mean of w given those points, so no predictor does better on average.
  std::vector<double> best_losses(const Batch& batch) const override;

 private:
  TaskShape shape_;
  std::uint64_t seed_;
  Vocabulary vocabulary_{0, {"x", "y"}};
};

}  // namespace headtorch::tasks
