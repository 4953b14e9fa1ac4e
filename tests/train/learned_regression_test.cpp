// The comparison of learned kernels as a whole.

#include "train/learned_regression.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "src/core/error.hpp"

namespace headtorch::train {
namespace {

NumberRows wave(std::int64_t n) {
  NumberRows rows;
  for (std::int64_t i = 0; i < n; ++i) {
    const double x = static_cast<double>(i) * 10.0 / static_cast<double>(n);
    rows.x.push_back(x);
    rows.y.push_back(std::sin(x) + 0.1 * std::cos(37.0 * x));
  }
  return rows;
}

constexpr LearnOptions kShort{.seeds = 2, .splits = 3, .n_threads = 2, .fit = {.steps = 20}};

// By hand: values 1, 2, 3 have mean 2 and sd 1; t with 2 degrees of freedom is 4.30265; 1/3 + 1/4 = 7/12.
TEST(LearnedRegression, intervals_of_splits_count_that_rows_are_shared) {
  const PairedDifference d = paired_difference({1.0, 2.0, 3.0}, 20, 80);
  EXPECT_NEAR(d.mean, 2.0, 1e-15);
  EXPECT_NEAR(d.high - d.mean, 4.302652729911275 * std::sqrt(7.0 / 12.0), 1e-9);
  EXPECT_NEAR(d.mean - d.low, d.high - d.mean, 1e-12);
  EXPECT_THROW(paired_difference({1.0}, 20, 80), ConfigError);
}

TEST(LearnedRegression, every_form_is_judged_on_the_same_rows_and_the_same_twice) {
  const LearnedRegression first = learn_regression(wave(40), kShort);
  LearnOptions alone = kShort;
  alone.n_threads = 1;
  const LearnedRegression second = learn_regression(wave(40), alone);
  ASSERT_EQ(first.rows.size(), 9u);
  for (std::size_t i = 0; i < first.rows.size(); ++i) {
    const LearnedRow& row = first.rows[i];
    EXPECT_EQ(row.form, static_cast<KernelForm>(i));
    EXPECT_EQ(row.loo, second.rows[i].loo);
    EXPECT_EQ(row.held_out, second.rows[i].held_out);
    EXPECT_EQ(row.loo.size(), is_learned(row.form) && i > 0 ? 2u : 1u);
    EXPECT_EQ(row.held_out.size(), 3u);
    EXPECT_EQ(row.against_gaussian.has_value(), i > 0);
  }
  EXPECT_LT(first.rows.front().loo.front(), first.rows[1].loo.front());
}

TEST(LearnedRegression, the_best_valley_is_the_learned_bandwidth) {
  const LearnedRegression result = learn_regression(wave(40), kShort);
  ASSERT_EQ(result.valleys.size(), 4u);
  double least = result.valleys.front().loo;
  for (const Valley& valley : result.valleys) least = std::min(least, valley.loo);
  EXPECT_EQ(result.rows.front().loo.front(), least);
}

TEST(LearnedRegression, the_local_width_of_a_gaussian_is_its_bandwidth) {
  const NumberRows rows = wave(100);
  LearnedKernel kernel = new_kernel(KernelForm::kGaussian, 1, rows, 0);
  kernel.parameters.front() = std::log(0.3 / kernel.scaling.x_sd.front());
  const std::vector<double> places = {3.0, 5.0, 7.0};
  const std::vector<LocalKernel> local = local_kernels(kernel, rows, places);
  for (std::size_t t = 0; t < places.size(); ++t) {
    EXPECT_NEAR(local[t].width, 0.3, 1e-9);
    EXPECT_NEAR(local[t].centre, places[t], 1e-9);
  }
}

TEST(LearnedRegression, too_few_and_too_many_rows_are_refused) {
  EXPECT_THROW(learn_regression(wave(9), kShort), DataError);
  EXPECT_THROW(learn_regression(wave(2001), kShort), ConfigError);
}

TEST(LearnedRegression, columns_and_outcomes_that_do_not_vary_give_finite_numbers) {
  NumberRows rows;
  rows.columns = 2;
  for (int i = 0; i < 20; ++i) {
    rows.x.insert(rows.x.end(), {static_cast<double>(i % 5), 3.0});
    rows.y.push_back(1.0);
  }
  for (const LearnedRow& row : learn_regression(rows, kShort).rows)
    EXPECT_TRUE(std::isfinite(row.loo_summary.mean) && std::isfinite(row.held_out_mean)) << name_of(row.form);
}

}  // namespace
}  // namespace headtorch::train
