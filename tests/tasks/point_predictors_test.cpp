#include "src/tasks/point_predictors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "src/core/philox.hpp"
#include "src/regress/kernel_regression.hpp"
#include "src/regress/leave_one_out.hpp"
#include "tests/tasks/examples.hpp"

namespace headtorch::tasks {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Points curve(std::size_t n, std::uint64_t seed) {
  Points points;
  Random random(seed, 1);
  for (std::size_t i = 0; i < n; ++i) {
    points.x.push_back(4.0 * random.uniform() - 2.0);
    points.y.push_back(std::sin(3.0 * points.x.back()) + 0.2 * random.uniform());
  }
  return points;
}

TEST(PointPredictors, know_the_points_before_and_no_other) {
  const Points whole = curve(12, 1);
  const PointPredictions said = predict_points(whole, true);
  Points changed = whole;
  for (std::size_t i = 7; i < 12; ++i) changed.y[i] += 100.0;
  const PointPredictions again = predict_points(changed, true);
  for (std::size_t k = 0; k <= 7; ++k) {
    EXPECT_EQ(again.average[k], said.average[k]);
    EXPECT_EQ(again.nearest_3[k], said.nearest_3[k]);
    EXPECT_EQ(again.nadaraya_watson[k], said.nadaraya_watson[k]);
    EXPECT_EQ(again.least_squares[k], said.least_squares[k]);
  }
  EXPECT_NE(again.average[8], said.average[8]);
  EXPECT_NE(again.nadaraya_watson[8], said.nadaraya_watson[8]);
}

TEST(PointPredictors, average_and_the_three_nearest) {
  const Points points{1, {0.0, 5.0, 1.0, 2.0, 0.4}, {1.0, 2.0, 4.0, 8.0, 16.0}};
  const PointPredictions said = predict_points(points, true);
  EXPECT_THAT(said.average, ElementsAre(0.0, 1.0, 1.5, 7.0 / 3.0, 3.75));
  EXPECT_THAT(said.nearest_3, ElementsAre(0.0, 1.0, 1.5, 7.0 / 3.0, 13.0 / 3.0));
}

// src/regress sums by other ways.
TEST(PointPredictors, the_kernels_are_those_of_src_regress) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Points points = curve(15, seed);
    const auto [low, high] = std::minmax_element(points.x.begin(), points.x.end());
    std::vector<double> bandwidths;
    for (int i = 0; i < 48; ++i) bandwidths.push_back((*high - *low) * 2.0 * std::pow(1.0 / 400.0, i / 47.0));
    const PointPredictions said = predict_points(points, true);
    EXPECT_DOUBLE_EQ(said.nadaraya_watson[1], points.y[0]);
    for (std::size_t k = 3; k < points.y.size(); ++k) {
      const std::span x(points.x.data(), k), y(points.y.data(), k);
      const regress::Sample seen(x, y);
      const std::vector<double> errors = regress::leave_one_out_errors(seen, {}, bandwidths);
      const auto best = std::min_element(errors.begin(), errors.end()) - errors.begin();
      const double place = points.x[k];
      const std::vector<double> value =
          regress::kernel_regression(seen, {}, bandwidths[static_cast<std::size_t>(best)], {&place, 1});
      EXPECT_NEAR(said.nadaraya_watson[k], value[0], 1e-6) << seed << ' ' << k;
    }
  }
}

TEST(PointPredictors, a_kernel_of_several_predictors_takes_their_distance) {
  Points line = curve(15, 3), plane{2, {}, line.y};
  for (const double x : line.x) plane.x.insert(plane.x.end(), {0.6 * x, 0.8 * x});
  const PointPredictions one = predict_points(line, true), two = predict_points(plane, true);
  for (std::size_t k = 0; k < 15; ++k) {
    EXPECT_NEAR(two.nadaraya_watson[k], one.nadaraya_watson[k], 1e-9);
    EXPECT_EQ(two.nearest_3[k], one.nearest_3[k]);
  }
}

TEST(PointPredictors, far_from_all_points_the_nearest_speaks) {
  const Points points{1, {0.0, 1e-9, 2e-9, 3e-9, 1.0, 1.0 + 1e-9}, {1.0, 2.0, 1.0, 2.0, 7.0, 7.0}};
  for (const double value : predict_points(points, true).nadaraya_watson) EXPECT_TRUE(std::isfinite(value));
  const Points equal{1, {2.0, 2.0, 2.0}, {1.0, 3.0, 5.0}};
  EXPECT_NEAR(predict_points(equal, true).nadaraya_watson[2], 2.0, 1e-12);
}

TEST(PointPredictors, least_squares_finds_lines) {
  const Points points{1, {0.0, 1.0, 4.0, -2.0}, {3.0, 5.0, 11.0, -1.0}};  // 3 + 2 x
  const PointPredictions with = predict_points(points, true), without = predict_points(points, false);
  EXPECT_NEAR(with.least_squares[2], 11.0, 1e-9);
  EXPECT_NEAR(with.least_squares[3], -1.0, 1e-9);
  EXPECT_NEAR(without.least_squares[2], 20.0, 1e-9) << "through 0, and (0, 3) says nothing of the slope";
}

TEST(PointErrors, least_squares_is_the_best_of_regression) {
  const auto task = test::make("regression");
  const std::vector<PointErrors> errors = point_errors(*task, Split::kTest, 200);
  ASSERT_EQ(errors.size(), 11);
  for (const PointErrors& at : errors) {
    EXPECT_NEAR(at.least_squares, at.best, 1e-5) << at.k;
    EXPECT_GE(at.average + 1e-9, at.best);
  }
}

TEST(PointErrors, nothing_is_below_the_posterior_of_functions) {
  const auto task = test::make("functions");
  const std::vector<PointErrors> errors = point_errors(*task, Split::kTest, 500);
  ASSERT_EQ(errors.size(), 20);
  for (const PointErrors& at : errors) {
    if (at.k == 0) continue;
    for (const double other : {at.average, at.nearest_3, at.nadaraya_watson, at.least_squares})
      EXPECT_LT(at.best, other) << at.k;
  }
  EXPECT_LT(errors[19].nadaraya_watson, errors[5].nadaraya_watson);
  EXPECT_LT(errors[19].best, 0.1);
  EXPECT_THAT(point_errors(*test::make("reverse"), Split::kTest, 5), IsEmpty());
}

}  // namespace
}  // namespace headtorch::tasks
