#include "train/error_interval.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "src/core/philox.hpp"

namespace headtorch::train {
namespace {

/// n standard normal numbers, each `times` in a row.
std::vector<double> normal(int n, int times) {
  Random random(5, 0);
  std::vector<double> all;
  for (int i = 0; i < n; ++i) {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - random.uniform()));
    all.insert(all.end(), static_cast<std::size_t>(times),
               radius * std::cos(2.0 * std::numbers::pi * random.uniform()));
  }
  return all;
}

TEST(ErrorInterval, of_errors_that_are_alike_is_a_point) {
  const std::vector<double> errors = {2.0, -2.0, 2.0, 2.0};
  for (const std::int64_t block : {1, 3, 9}) {
    const ErrorInterval interval = error_interval(errors, block);
    EXPECT_DOUBLE_EQ(interval.rmse_low, 2.0);
    EXPECT_DOUBLE_EQ(interval.rmse_high, 2.0);
    EXPECT_DOUBLE_EQ(interval.mae_low, 2.0);
    EXPECT_DOUBLE_EQ(interval.mae_high, 2.0);
  }
}

TEST(ErrorInterval, of_normal_errors_is_as_wide_as_theory_says) {
  const ErrorInterval interval = error_interval(normal(400, 1), 1);
  // sd of the root mean square of n normal errors: 1 / sqrt(2 n); of the mean size: sqrt((1 - 2 / pi) / n).
  EXPECT_NEAR(interval.rmse_high - interval.rmse_low, 2 * 1.96 / std::sqrt(800.0), 0.02);
  EXPECT_NEAR(interval.mae_high - interval.mae_low,
              2 * 1.96 * std::sqrt((1.0 - 2.0 / std::numbers::pi) / 400.0), 0.02);
}

TEST(ErrorInterval, blocks_keep_what_neighbours_share) {
  const std::vector<double> errors = normal(100, 9);
  const auto width = [&](std::int64_t block) {
    const ErrorInterval interval = error_interval(errors, block);
    return interval.rmse_high - interval.rmse_low;
  };
  // 900 errors hold what 100 do: three times as wide; blocks that straddle two of them take some of it away.
  EXPECT_GT(width(9) / width(1), 2.0);
  EXPECT_LT(width(9) / width(1), 3.3);
}

TEST(ErrorInterval, is_the_same_each_time) {
  const std::vector<double> errors = normal(50, 1);
  EXPECT_EQ(error_interval(errors, 4).rmse_low, error_interval(errors, 4).rmse_low);
}

}  // namespace
}  // namespace headtorch::train
