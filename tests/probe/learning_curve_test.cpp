#include "src/probe/learning_curve.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/core/error.hpp"
#include "tests/support/comparison_rows.hpp"

namespace headtorch::probe {
namespace {

using ::testing::HasSubstr;

/// A comparison in which the learned head is `lead` better than the kernel, more or less.
SizePoint point(std::int64_t n, double lead, double spread = 0.01) {
  return {n,
          {no_mixing({9, 9, 9, 9}), uniform({8, 8, 8, 8}), local({5, 5, 5, 5}),
           learned(1, 1, {5 - lead - spread, 5 - lead + spread, 5 - lead - spread, 5 - lead + spread})},
          {}};
}

TEST(LearningCurve, OvertakesFromTheFirstSizeThatStaysAhead) {
  EXPECT_EQ(overtaking({point(50, -1), point(100, 0.5), point(200, 1)}, kLoss),
            "Learning overtakes the fixed kernel from 100 rows on.");
  EXPECT_EQ(overtaking({point(50, 1), point(100, -0.5), point(200, 1)}, kLoss),
            "Learning overtakes the fixed kernel from 200 rows on.");
}

TEST(LearningCurve, NotUpToTheLargestIsAnAnswer) {
  EXPECT_EQ(overtaking({point(50, -1), point(800, -0.5)}, kLoss),
            "Learning does not clearly overtake the fixed kernel up to 800 rows.");
  EXPECT_EQ(overtaking({point(50, 2), point(800, -0.5)}, kLoss),
            "Learning does not clearly overtake the fixed kernel up to 800 rows.");
}

TEST(LearningCurve, AMeanAheadByChanceIsSaid) {
  EXPECT_EQ(
      overtaking({point(50, -1), point(100, 0.1, 1.0), point(200, 0.2, 1.0)}, kLoss),
      "Learning does not clearly overtake the fixed kernel up to 200 rows; its mean is the better one from "
      "100 rows on.");
}

TEST(LearningCurve, NeedsSizesAndALearnedRow) {
  EXPECT_THROW(overtaking({}, kLoss), ConfigError);
  SizePoint no_learned = point(50, 1);
  no_learned.rows.pop_back();
  EXPECT_THROW(overtaking({no_learned}, kLoss), ConfigError);
}

}  // namespace
}  // namespace headtorch::probe
