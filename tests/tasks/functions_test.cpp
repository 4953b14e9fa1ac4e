#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "src/tasks/functions_task.hpp"
#include "tests/support/errors.hpp"
#include "tests/tasks/examples.hpp"

namespace headtorch::tasks {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kExamples = 4000, kPoints = 20;

class Functions : public ::testing::Test {
 protected:
  std::size_t at(std::size_t example, std::size_t k) const { return example * kPoints + k; }
  double x(std::size_t example, std::size_t k) const { return batch_.features[at(example, k) * 3]; }
  double y(std::size_t example, std::size_t k) const { return batch_.values[at(example, k)]; }
  double length(std::size_t example) const { return batch_.drawn[example * 2]; }
  double noise(std::size_t example) const {
    return batch_.drawn[example * 2 + 1] * batch_.drawn[example * 2 + 1];
  }
  double covariance(std::size_t example, std::size_t i, std::size_t j) const {
    const double u = (x(example, i) - x(example, j)) / length(example);
    return std::exp(-u * u / 2.0) + (i == j ? noise(example) : 0.0);
  }

  std::unique_ptr<Task> task_ = test::make("functions");
  Batch batch_ = task_->batch(Split::kTest, 0, kExamples);
  std::vector<double> losses_ = task_->best_losses(batch_);
};

TEST_F(Functions, a_position_has_its_x_and_the_point_before) {
  EXPECT_EQ(task_->shape().seq_len, 20);
  EXPECT_EQ(task_->shape().measure, Measure::kReal);
  EXPECT_EQ(task_->shape().points.n_predictors, 1);
  for (std::size_t i = 0; i < batch_.tokens.size(); ++i) {
    const bool is_first = i % kPoints == 0;
    ASSERT_EQ(batch_.tokens[i], is_first ? 0 : 1);
    ASSERT_EQ(batch_.labels[i], 0);
    ASSERT_LE(std::abs(batch_.features[i * 3]), 2.0F);
    ASSERT_EQ(batch_.features[i * 3 + 1], is_first ? 0.0F : batch_.features[(i - 1) * 3]);
    ASSERT_EQ(batch_.features[i * 3 + 2], is_first ? 0.0F : batch_.values[i - 1]);
  }
}

TEST_F(Functions, G39_nothing_up_to_position_k_holds_y_k_or_later) {
  for (std::size_t example = 0; example < 200; ++example) {
    for (std::size_t k = 0; k < kPoints; ++k) {
      for (std::size_t later = k; later < kPoints; ++later) {
        for (std::size_t i = at(example, 0) * 3; i < (at(example, k) + 1) * 3; ++i)
          ASSERT_NE(batch_.features[i], batch_.values[at(example, later)]);
      }
    }
  }
}

TEST_F(Functions, what_is_drawn_lies_in_its_ranges_and_fills_them) {
  std::array<double, 2> low = {1.0, 1.0}, high = {0.0, 0.0};
  for (std::size_t i = 0; i < batch_.drawn.size(); ++i) {
    low[i % 2] = std::min(low[i % 2], batch_.drawn[i]);
    high[i % 2] = std::max(high[i % 2], batch_.drawn[i]);
  }
  EXPECT_NEAR(low[0], 0.3, 0.005);
  EXPECT_NEAR(high[0], 1.0, 0.005);
  EXPECT_NEAR(low[1], 0.02, 0.002);
  EXPECT_NEAR(high[1], 0.2, 0.002);
}

// By distance: near pairs, middle ones and far ones.
TEST_F(Functions, products_of_values_have_the_kernels_mean) {
  std::array<double, 4> sums = {}, counts = {};
  double mean = 0.0, variance = 0.0;
  for (std::size_t example = 0; example < kExamples; ++example) {
    for (std::size_t i = 0; i < kPoints; ++i) {
      mean += y(example, i) / (kExamples * kPoints);
      variance += (y(example, i) * y(example, i) - covariance(example, i, i)) / (kExamples * kPoints);
      for (std::size_t j = 0; j < i; ++j) {
        const auto bin = static_cast<std::size_t>(std::abs(x(example, i) - x(example, j)));
        sums[bin] += y(example, i) * y(example, j) - covariance(example, i, j);
        counts[bin] += 1.0;
      }
    }
  }
  EXPECT_NEAR(mean, 0.0, 0.05);
  EXPECT_NEAR(variance, 0.0, 0.05);
  for (std::size_t bin = 0; bin < 4; ++bin) EXPECT_NEAR(sums[bin] / counts[bin], 0.0, 0.05) << bin;
}

// Two points: y_2 given y_1 has mean c y_1 / v and variance v - c^2 / v.
TEST_F(Functions, the_second_loss_is_that_of_the_conditional_mean) {
  double ratio = 0.0;
  for (std::size_t example = 0; example < kExamples; ++example) {
    const double v = covariance(example, 0, 0), c = covariance(example, 0, 1);
    const double error = y(example, 1) - c / v * y(example, 0);
    EXPECT_NEAR(losses_[at(example, 0)], y(example, 0) * y(example, 0), 1e-9);
    EXPECT_NEAR(losses_[at(example, 1)], error * error, 1e-9);
    ratio += error * error / (v - c * c / v) / kExamples;
  }
  EXPECT_NEAR(ratio, 1.0, 5.0 * std::sqrt(2.0 / kExamples)) << "and noise is what it is said to be";
}

// Three points, the two by two system written out.
TEST_F(Functions, the_third_loss_is_that_of_the_conditional_mean) {
  for (std::size_t example = 0; example < 300; ++example) {
    const double v = covariance(example, 0, 0), c = covariance(example, 0, 1);
    const double a = covariance(example, 0, 2), b = covariance(example, 1, 2);
    const double determinant = v * v - c * c;
    const double mean = ((a * v - b * c) * y(example, 0) + (b * v - a * c) * y(example, 1)) / determinant;
    const double error = y(example, 2) - mean;
    EXPECT_NEAR(losses_[at(example, 2)], error * error, 1e-6);
  }
}

TEST_F(Functions, sizes_and_names) {
  EXPECT_EQ(task_->parse_tokens("first next"), (test::Row{0, 1}));
  EXPECT_TRUE(headtorch::test::fails([] { test::make_with({.name = "functions", .seq_len = 257}); },
                                     ExitCode::kBadConfig, HasSubstr("seq_len = 257")));
  EXPECT_TRUE(headtorch::test::fails([] { test::make_with({.name = "functions", .n_symbols = 3}); },
                                     ExitCode::kBadConfig, HasSubstr("n_symbols = 3")));
}

}  // namespace
}  // namespace headtorch::tasks
