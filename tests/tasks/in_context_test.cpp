#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tests/support/errors.hpp"
#include "tests/tasks/examples.hpp"

namespace headtorch::tasks {
namespace {

using test::make;
using test::make_with;
using test::Row;
using ::testing::HasSubstr;

// Three states, t = 0 1 0 1: the first step has 1/3; from 1, new, 1/3; from 0 once to 1, (1+1)/(1+3).
TEST(Markov, best_losses_are_those_of_counts_plus_one) {
  const auto task = make_with({.name = "markov", .seq_len = 6, .n_symbols = 3});
  Batch batch;
  batch.examples = 1;
  batch.length = 6;
  batch.tokens = {0, 1, 0, 1, 1, 0};
  batch.labels = {1, 0, 1, 1, 0, kNotCounted};
  const std::vector<double> losses = task->best_losses(batch);
  const std::vector<double> chances = {1.0 / 3, 1.0 / 3, 2.0 / 4, 1.0 / 4, 2.0 / 5};
  ASSERT_EQ(losses.size(), 6);
  for (std::size_t i = 0; i < chances.size(); ++i) EXPECT_NEAR(losses[i], -std::log(chances[i]), 1e-12);
  EXPECT_EQ(losses[5], 0.0);
}

TEST(Markov, the_label_is_the_next_token) {
  const auto task = make("markov");
  const Batch batch = task->batch(Split::kTrain, 0, 500);
  for (std::int64_t i = 0; i < batch.examples; ++i) {
    const Row x = test::tokens_of(batch, i), y = test::labels_of(batch, i);
    ASSERT_TRUE(std::equal(x.begin() + 1, x.end(), y.begin()));
    ASSERT_EQ(y.back(), kNotCounted);
  }
}

// Summed over what can come next, Bayes' probabilities are the frequencies with which it comes; and no other
// amount of smoothing does better on average.
TEST(Markov, the_posterior_is_calibrated_and_best) {
  const auto task = make_with({.name = "markov", .seq_len = 20, .n_symbols = 3});
  const Batch batch = task->batch(Split::kTrain, 0, 20000);
  double best = 0.0, counted = 0.0;
  for (const double loss : task->best_losses(batch)) best += loss;
  std::map<double, double> others = {{0.5, 0.0}, {2.0, 0.0}};
  for (auto& [prior, sum] : others) {
    for (std::int64_t i = 0; i < batch.examples; ++i) {
      const Row x = test::tokens_of(batch, i);
      double counts[3][3] = {}, rows[3] = {};
      for (std::size_t k = 0; k + 1 < x.size(); ++k) {
        const auto from = static_cast<std::size_t>(x[k]), to = static_cast<std::size_t>(x[k + 1]);
        sum -= std::log((counts[from][to] + prior) / (rows[from] + 3 * prior));
        ++counts[from][to];
        ++rows[from];
      }
    }
    EXPECT_LT(best, sum) << prior;
  }
  double likely = 0.0, expected = 0.0;  // of the losses' exponential: how often the even bet 1/3 came true
  const std::vector<double> losses = task->best_losses(batch);
  for (std::int64_t i = 0; i < batch.examples; ++i) {
    const Row x = test::tokens_of(batch, i);
    if (x[0] != x[1]) continue;  // from state a to a: the next a has a chance of 2/4
    expected += 0.5;
    likely += x[2] == x[1];
    counted += 1.0;
  }
  EXPECT_NEAR(likely, expected, 5 * std::sqrt(counted) / 2);
}

TEST(Markov, chains_differ_and_small_spaces_are_counted) {
  EXPECT_THAT(make_with({.name = "markov", .seq_len = 6, .n_symbols = 3})->overlap_note(),
              HasSubstr("Only 729 different"));
  EXPECT_TRUE(headtorch::test::fails([] { make_with({.name = "markov", .n_symbols = 101}); },
                                     ExitCode::kBadConfig, HasSubstr("n_symbols = 101: expected 2 to 100")));
  EXPECT_TRUE(make("reverse")->best_losses(make("reverse")->batch(Split::kTrain, 0, 2)).empty());
}

class Regression : public ::testing::Test {
 protected:
  float x(std::size_t example, std::size_t point, std::size_t k) const {
    return batch_.features[((example * 11 + point) * 2) * 6 + k];
  }
  float y(std::size_t example, std::size_t point) const {
    return batch_.features[((example * 11 + point) * 2 + 1) * 6 + 5];
  }
  std::unique_ptr<Task> task_ = make("regression");
  Batch batch_ = task_->batch(Split::kTest, 0, 4000);
  std::vector<double> losses_ = task_->best_losses(batch_);
};

TEST_F(Regression, the_layout_is_x1_y1_x2_y2) {
  EXPECT_EQ(task_->shape().seq_len, 22);
  EXPECT_EQ(task_->shape().n_features, 6);
  EXPECT_EQ(task_->shape().measure, Measure::kReal);
  for (std::size_t i = 0; i < batch_.tokens.size(); ++i) {
    ASSERT_EQ(batch_.tokens[i], i % 2);
    ASSERT_EQ(batch_.labels[i], i % 2 == 0 ? 0 : kNotCounted);
    for (std::size_t k = 0; k < 6; ++k) {
      if ((i % 2 == 0) == (k == 5)) {
        ASSERT_EQ(batch_.features[i * 6 + k], 0.0F);
      }
    }
    if (i % 2 == 0) {
      ASSERT_EQ(batch_.values[i], batch_.features[(i + 1) * 6 + 5]);
    }
  }
}

TEST_F(Regression, x_and_y_have_mean_0_and_variance_1) {
  double sums[3] = {}, squares[3] = {};
  const double n_x = 4000.0 * 11 * 5, n_y = 4000.0 * 11;
  for (std::size_t example = 0; example < 4000; ++example) {
    for (std::size_t point = 0; point < 11; ++point) {
      for (std::size_t k = 0; k < 5; ++k) {
        sums[0] += x(example, point, k) / n_x;
        squares[0] += x(example, point, k) * x(example, point, k) / n_x;
      }
      sums[1] += y(example, point) / n_y;
      squares[1] += y(example, point) * y(example, point) / n_y;
    }
  }
  EXPECT_NEAR(sums[0], 0.0, 0.015);
  EXPECT_NEAR(squares[0], 1.0, 0.02);
  EXPECT_NEAR(sums[1], 0.0, 0.03);
  EXPECT_NEAR(squares[1], 1.0, 0.06);
}

// What least squares of least norm leaves after k points in d dimensions: 1 - k/d of w, by symmetry.
TEST_F(Regression, least_squares_loses_1_minus_k_over_d_and_nothing_from_5_points_on) {
  for (std::size_t point = 0; point < 11; ++point) {
    double mean = 0.0;
    for (std::size_t example = 0; example < 4000; ++example)
      mean += losses_[(example * 11 + point) * 2] / 4000.0;
    const double expected = point < 5 ? 1.0 - static_cast<double>(point) / 5.0 : 0.0;
    EXPECT_NEAR(mean, expected, point < 5 ? 0.12 : 1e-4) << point;
  }
  for (std::size_t i = 1; i < losses_.size(); i += 2) ASSERT_EQ(losses_[i], 0.0);
}

// One point: w is the projection on x_1, so the prediction is y_1 x_1.x_2 / x_1.x_1.
TEST_F(Regression, the_second_prediction_is_the_projection_on_the_first_point) {
  for (std::size_t example = 0; example < 200; ++example) {
    double along = 0.0, square = 0.0;
    for (std::size_t k = 0; k < 5; ++k) {
      along += static_cast<double>(x(example, 0, k)) * x(example, 1, k);
      square += static_cast<double>(x(example, 0, k)) * x(example, 0, k);
    }
    const double error = y(example, 1) - y(example, 0) * along / square;
    EXPECT_NEAR(losses_[example * 22 + 2], error * error, 1e-9);
  }
}

TEST_F(Regression, G39_what_is_seen_at_x_k_does_not_hold_y_k_or_later) {
  // y_k enters the input at one place alone, behind x_k.
  for (std::size_t i = 0; i < batch_.values.size(); i += 2) {
    if (batch_.values[i] == 0.0F) continue;
    const std::size_t first = i / 22 * 22 * 6, own = (i + 1) * 6 + 5;
    for (std::size_t k = first; k < own; ++k) ASSERT_NE(batch_.features[k], batch_.values[i]);
  }
}

TEST_F(Regression, every_example_has_its_own_line) {
  EXPECT_EQ(task_->parse_tokens("x y x"), (Row{0, 1, 0}));
  EXPECT_NE(y(0, 0), y(1, 0));
  EXPECT_TRUE(headtorch::test::fails([] { make_with({.name = "regression", .seq_len = 21}); },
                                     ExitCode::kBadConfig, HasSubstr("seq_len = 21: expected an even")));
  EXPECT_TRUE(headtorch::test::fails([] { make_with({.name = "regression", .n_symbols = 3}); },
                                     ExitCode::kBadConfig, HasSubstr("n_symbols = 3: expected 2")));
}

}  // namespace
}  // namespace headtorch::tasks
