#include "src/regress/regression.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/support/errors.hpp"
#include "tests/support/naive_regression.hpp"

namespace headtorch::regress {
namespace {

constexpr Kernel kKernels[] = {Kernel::kGaussian, Kernel::kExponential, Kernel::kEpanechnikov, Kernel::kBox};
constexpr Degree kDegrees[] = {Degree::kConstant, Degree::kLinear};

RegressionData one_column(std::vector<double> x, std::vector<double> y) {
  return {.x = {{.numbers = std::move(x)}}, .y = {.numbers = std::move(y)}};
}

std::vector<Variable> places(std::vector<double> x) { return {{.numbers = std::move(x)}}; }

RegressionData waves(std::size_t n) {
  const auto points = test::noisy_points(n, [](Random& random, std::size_t) { return random.uniform(); });
  return one_column(points.x, points.y);
}

TEST(Estimate, IsNeverNotANumberFarFromTheData) {
  const RegressionData data = one_column({0, 1, 2}, {1, 3, 5});
  const auto values = [&](double h, std::vector<double> x) {
    std::vector<double> found;
    for (const Estimate& one : estimate(data, {}, {h}, places(std::move(x)))) found.push_back(one.value);
    return found;
  };
  EXPECT_THAT(values(0.01, {0, 10, 1.5, -5}), ::testing::ElementsAre(1, 5, 4, 1));
  EXPECT_NEAR(values(0.1, {3.5})[0], 5.0, 1e-12);
  const auto smooth = values(1.0, {0, 0.5, 10});
  const std::vector<double> expected{2.0071972, 2.4660872, 4.9995931};
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(smooth[i], expected[i], 5e-8);
  for (const Kernel kernel : kKernels) {
    for (const Degree degree : kDegrees) {
      for (const double h : {2.3e-308, 1e-9, 1.0, 1e300}) {
        for (const Estimate& one :
             estimate(data, {kernel, degree}, {h}, places({-1e300, 0.3, 1e15, 1e300}))) {
          EXPECT_FALSE(std::isnan(one.value)) << h;
          EXPECT_GE(one.effective_n, 1 - 1e-12);
        }
      }
    }
    const auto weights = kernel_weights(data, kernel, {0.01}, places({1e300, 0.5, -7}));
    for (std::size_t row = 0; row < 3; ++row)
      EXPECT_NEAR(std::accumulate(weights.begin() + 3 * row, weights.begin() + 3 * row + 3, 0.0), 1.0, 1e-15);
  }
}

TEST(Estimate, IsThatOfKernelRegression) {
  const RegressionData data = waves(60);
  const test::Points points{data.x[0].numbers, data.y.numbers};
  for (const Kernel kernel : kKernels) {
    for (const Degree degree : kDegrees) {
      for (const double h : {1e-4, 0.02, 0.3, 50.0}) {
        for (const double x : {-0.5, 0.1, 0.777, 2.0}) {
          const double expected = test::naive_fit(points, {kernel, degree}, h, x);
          EXPECT_NEAR(estimate(data, {kernel, degree}, {h}, places({x}))[0].value, expected,
                      1e-8 * (1 + std::abs(expected)))
              << static_cast<int>(kernel) << static_cast<int>(degree) << " " << h << " at " << x;
        }
      }
    }
  }
}

TEST(Estimate, IntervalIsHc3) {
  // All weights alike: l = 1/3, left out residuals y - mean of the other two: -3, 0, 3.
  const auto found = estimate(one_column({0, 1, 2}, {1, 3, 5}), {}, {1e9}, places({1}))[0];
  EXPECT_NEAR(found.value, 3.0, 1e-12);
  EXPECT_NEAR(found.high - found.value, 1.959963984540054 * std::sqrt(18.0) / 3, 1e-9);
  EXPECT_NEAR(found.value - found.low, found.high - found.value, 1e-12);
  EXPECT_NEAR(found.effective_n, 3.0, 1e-12);
}

TEST(Estimate, OnePointAnswersEverywhere) {
  for (const Degree degree : kDegrees) {
    const auto found = estimate(one_column({2}, {7}), {Kernel::kGaussian, degree}, {0.5}, places({-1e6, 2}));
    EXPECT_EQ(found[0].value, 7.0);
    EXPECT_EQ(found[1].low, 7.0);
  }
}

TEST(Estimate, OfALineOverManyRowsHoldsNoSquareMatrix) {
  constexpr std::size_t kRows = 100'000;  // squared, 80 GB of doubles
  std::vector<double> x(kRows), y(kRows);
  for (std::size_t i = 0; i < kRows; ++i) {
    x[i] = static_cast<double>(i) / kRows;
    y[i] = 2 * x[i] + 1;
  }
  const auto found =
      estimate(one_column(x, y), {Kernel::kGaussian, Degree::kLinear}, {10.0}, places({0.25, 3.0}));
  EXPECT_NEAR(found[0].value, 1.5, 1e-9);
  EXPECT_NEAR(found[1].value, 7.0, 1e-9);
  EXPECT_NEAR(found[0].effective_n, kRows, 1.0);
}

TEST(RegressionStatistics, AreThoseOfTheWholeMatrix) {
  // A second column that is constant sends the same data through the other path.
  const RegressionData data = waves(80);
  RegressionData both = data;
  both.x.push_back({.numbers = std::vector<double>(80, 3.0)});
  for (const Kernel kernel : kKernels) {
    for (const Degree degree : kDegrees) {
      for (const double h : {0.004, 0.05, 0.3, 9.0}) {
        const auto fast = regression_statistics(data, {kernel, degree}, {h});
        const auto direct = regression_statistics(both, {kernel, degree}, {h, 1.0});
        const std::string where = std::to_string(static_cast<int>(kernel)) +
                                  (degree == Degree::kLinear ? " linear " : " ") + std::to_string(h);
        EXPECT_NEAR(fast.cv, direct.cv, 1e-8 * direct.cv) << where;
        EXPECT_NEAR(fast.effective_df, direct.effective_df, 1e-8 * direct.effective_df) << where;
        EXPECT_NEAR(fast.r2, direct.r2, 1e-8) << where;
        EXPECT_EQ(std::isnan(fast.r2_corr), std::isnan(direct.r2_corr)) << where;
        if (!std::isnan(direct.r2_corr)) {
          EXPECT_NEAR(fast.r2_corr, direct.r2_corr, 1e-8) << where;
        }
        ASSERT_EQ(fast.aicc.has_value(), direct.aicc.has_value()) << where;
        if (!std::isnan(direct.residual_sd)) {
          EXPECT_NEAR(fast.residual_sd, direct.residual_sd, 1e-6 * direct.residual_sd) << where;
        }
        for (std::size_t i = 0; i < 80; ++i) EXPECT_NEAR(fast.fitted[i], direct.fitted[i], 1e-8) << where;
      }
    }
  }
}

TEST(RegressionStatistics, OfTwoPointsAndOfConstants) {
  const auto two = regression_statistics(one_column({0, 1}, {2, 5}), {}, {0.1});
  EXPECT_EQ(two.cv, 9.0);
  EXPECT_FALSE(two.aicc);
  const auto flat = regression_statistics(one_column({4, 4, 4, 4}, {1, 2, 3, 6}), {}, {1.0});
  EXPECT_THAT(flat.fitted, ::testing::Each(::testing::DoubleNear(3.0, 1e-12)));
  EXPECT_NEAR(flat.effective_df, 1.0, 1e-12);
  EXPECT_NEAR(flat.residual_sd, std::sqrt(14.0 / 3), 1e-12);  // that of the mean
  EXPECT_TRUE(
      test::fails([] { regression_statistics(one_column({0}, {2}), {}, {0.1}); }, ExitCode::kBadData));
}

TEST(Categories, AreWeightedAsAitchisonAndAitken) {
  const RegressionData data{.x = {{.codes = {0, 0, 1, 2}, .n_categories = 3}},
                            .y = {.numbers = {1, 3, 10, 20}}};
  const std::vector<Variable> place{{.codes = {0, 5}, .n_categories = 3}};
  EXPECT_THAT(
      kernel_weights(data, Kernel::kGaussian, {0.2}, place),
      ::testing::Pointwise(::testing::DoubleNear(1e-15),
                           std::vector{0.8 / 1.8, 0.8 / 1.8, 0.1 / 1.8, 0.1 / 1.8, 0.25, 0.25, 0.25, 0.25}));
  EXPECT_NEAR(estimate(data, {}, {0.0}, place)[0].value, 2.0, 1e-12);      // its own category alone
  EXPECT_NEAR(estimate(data, {}, {2.0 / 3}, place)[0].value, 8.5, 1e-12);  // all alike
  EXPECT_NEAR(estimate(data, {}, {0.0}, place)[1].value, 8.5, 1e-12);      // a category never seen
}

TEST(Product, TakesTheNearestWhereNoPointIsReached) {
  const RegressionData data{.x = {{.numbers = {0, 10, 20}}, {.numbers = {0, 1, 2}}},
                            .y = {.numbers = {1, 2, 4}}};
  // From (14, 1): |u| 14/1, 4/1, 6/1 and 1, 0, 1 bandwidths.
  const std::vector<Variable> place{{.numbers = {14}}, {.numbers = {1}}};
  for (const Kernel kernel : {Kernel::kEpanechnikov, Kernel::kBox})
    EXPECT_EQ(estimate(data, {kernel, Degree::kConstant}, {1.0, 1.0}, place)[0].value, 2.0);
  EXPECT_EQ(estimate(data, {Kernel::kBox, Degree::kConstant}, {6.0, 1.0}, place)[0].value, 3.0);
}

TEST(Classes, AreSharesOfTheWeights) {
  const RegressionData data{.x = {{.numbers = {0, 1, 5, 6}}},
                            .y = {.codes = {0, 0, 1, 1}, .n_categories = 2}};
  const auto p = class_probabilities(data, Kernel::kGaussian, {0.5}, places({0.5, 3, 5.5, 1e9}));
  EXPECT_NEAR(p[0], 1.0, 1e-12);
  EXPECT_NEAR(p[2], 0.5, 1e-12);
  EXPECT_NEAR(p[5], 1.0, 1e-12);
  EXPECT_EQ(p[7], 1.0);
  const ClassStatistics statistics = class_statistics(data, Kernel::kGaussian, {0.5});
  EXPECT_EQ(statistics.accuracy, 1.0);
  EXPECT_LT(statistics.log_loss, 1e-6);
  // Left out, one of two of the own class is among three rows.
  EXPECT_NEAR(statistics.log_loss_of_shares, std::log(3.0), 1e-12);
  EXPECT_EQ(statistics.accuracy_of_shares, 0.0);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_NEAR(statistics.left_out[2 * i] + statistics.left_out[2 * i + 1], 1.0, 1e-12);
  EXPECT_NEAR(class_statistics(data, Kernel::kBox, {1e3}).effective_df, 1.0, 1e-12);
}

}  // namespace
}  // namespace headtorch::regress
