#include "src/probe/summary.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "src/core/error.hpp"

namespace headtorch::probe {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(StudentT, MatchesItsClosedForms) {
  EXPECT_NEAR(student_t_95(1), std::tan(0.95 * std::numbers::pi / 2), 1e-11);
  EXPECT_NEAR(student_t_95(2), 0.95 * std::sqrt(2 / (1 - 0.95 * 0.95)), 1e-12);
}

// R 4.2: qt(0.975, df).
TEST(StudentT, MatchesR) {
  EXPECT_NEAR(student_t_95(3), 3.18244630528371, 1e-12);
  EXPECT_NEAR(student_t_95(4), 2.77644510519779, 1e-12);
  EXPECT_NEAR(student_t_95(5), 2.57058183563632, 1e-12);
  EXPECT_NEAR(student_t_95(10), 2.22813885198627, 1e-12);
  EXPECT_NEAR(student_t_95(30), 2.04227245630124, 1e-12);
  EXPECT_NEAR(student_t_95(100), 1.98397151852355, 1e-12);
}

TEST(StudentT, FallsTowardsTheNormalQuantile) {
  for (std::int64_t degrees = 1; degrees < 60; ++degrees) {
    EXPECT_GT(student_t_95(degrees), student_t_95(degrees + 1)) << degrees;
  }
  EXPECT_NEAR(student_t_95(1'000'000), 1.959963984540054, 1e-5);
}

TEST(StudentT, RefusesNoDegreesOfFreedom) { EXPECT_THROW(student_t_95(0), ConfigError); }

TEST(Summarise, GivesAnIntervalFromFourSeedsOn) {
  const Summary three = summarise({1.0, 2.0, 6.0});
  EXPECT_DOUBLE_EQ(three.mean, 3.0);
  EXPECT_DOUBLE_EQ(three.min, 1.0);
  EXPECT_DOUBLE_EQ(three.max, 6.0);
  EXPECT_FALSE(three.low);
  EXPECT_FALSE(three.high);

  // By hand: sd = sqrt(5/3), half width = t(3) sd / 2.
  const Summary four = summarise({1.0, 2.0, 3.0, 4.0});
  ASSERT_TRUE(four.low && four.high);
  const double half = 3.18244630528371 * std::sqrt(5.0 / 3.0) / 2.0;
  EXPECT_NEAR(*four.low, 2.5 - half, 1e-12);
  EXPECT_NEAR(*four.high, 2.5 + half, 1e-12);
}

TEST(Summarise, EqualValuesHaveNoWidth) {
  const Summary equal = summarise({0.1, 0.1, 0.1, 0.1, 0.1, 0.1});
  EXPECT_EQ(equal.mean, 0.1);
  EXPECT_EQ(equal.low, 0.1);
  EXPECT_EQ(equal.high, 0.1);
}

TEST(Summarise, OneSeedIsItsOwnRange) {
  const Summary one = summarise({0.25});
  EXPECT_EQ(one.mean, 0.25);
  EXPECT_EQ(one.min, 0.25);
  EXPECT_EQ(one.max, 0.25);
}

TEST(Summarise, AValueThatIsNoNumberLeavesNothing) {
  for (const double bad : {kNaN, std::numeric_limits<double>::infinity()}) {
    const Summary none = summarise({1.0, bad, 1.0, 1.0});
    EXPECT_TRUE(std::isnan(none.mean) && std::isnan(none.min) && std::isnan(none.max));
    EXPECT_FALSE(none.low || none.high);
  }
}

TEST(Summarise, RefusesNoValues) { EXPECT_THROW(summarise({}), ConfigError); }

}  // namespace
}  // namespace headtorch::probe
