#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/probe/verdict.hpp"
#include "tests/support/comparison_rows.hpp"

// Plain references beside a comparison: they decide nothing and are named when they are ahead.

namespace headtorch::probe {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const ComparisonMetric kRmse{.name = "rmse",
                             .higher_is_better = false,
                             .best_possible = {},
                             .unit = "in units of y",
                             .sample = "split"};

/// Learning ahead of a kernel ahead of no mixing, on four splits of different difficulty.
std::vector<ComparisonRow> rows() {
  return {no_mixing({9.0, 8.0, 9.5, 8.5}), uniform({9.1, 8.2, 9.4, 8.6}), local({7.0, 6.0, 7.4, 6.5}),
          learned(1, 1, {5.0, 4.1, 5.3, 4.6})};
}

TEST(References, OneAheadOfEveryModelComesFirstAndDecidesNothing) {
  std::vector<ComparisonRow> all = rows();
  const Verdict without = decide(all, kRmse);
  all.push_back(reference("mean", {16.0, 15.0, 17.0, 16.5}));
  all.push_back(reference("linear", {3.0, 2.0, 3.4, 2.5}));
  const Verdict verdict = decide(all, kRmse);
  EXPECT_EQ(verdict.outcome, without.outcome);
  EXPECT_THAT(verdict.verdict, AllOf(StartsWith("A plain reference is ahead: linear, by 2.025 in units of y"),
                                     HasSubstr("over the best model, 1h1l. "), HasSubstr("Learning is ahead"),
                                     Not(HasSubstr("chance"))));
  EXPECT_THAT(verdict.reason, HasSubstr("decide nothing: mean 16.125 and linear 2.725."));
}

TEST(References, ALeadThatMayBeChanceIsSaidToBe) {
  std::vector<ComparisonRow> all = rows();
  all.push_back(reference("linear", {3.0, 5.0, 4.0, 4.5}));
  EXPECT_THAT(decide(all, kRmse).verdict, AllOf(StartsWith("A plain reference is ahead: linear, by"),
                                                HasSubstr("1h1l, which may be chance. Learning")));
}

TEST(References, OneBehindIsInTheReasonOnly) {
  std::vector<ComparisonRow> all = rows();
  all.push_back(reference("k nearest, k 3", {8.0, 7.0, 8.4, 7.5}));
  const Verdict verdict = decide(all, kRmse);
  EXPECT_EQ(verdict.verdict, decide(rows(), kRmse).verdict);
  EXPECT_THAT(verdict.reason, HasSubstr("decide nothing: k nearest, k 3 7.725."));
}

TEST(References, BaselineHoldsThemAgainstKernelsAlone) {
  std::vector<ComparisonRow> all = rows();
  all.push_back(reference("linear", {6.0, 5.0, 6.4, 5.5}));  // behind the learned head, ahead of the kernel
  EXPECT_THAT(decide_baseline(all, kRmse).verdict,
              StartsWith("A plain reference is ahead: linear, by 1.000 in units of y"));
  EXPECT_THAT(decide(all, kRmse).verdict, StartsWith("Learning is ahead"));
}

TEST(References, NoMixingCountsAsAModel) {
  std::vector<ComparisonRow> all = rows();
  all[0].values = {1.0, 1.1, 0.9, 1.0};
  all.push_back(reference("linear", {3.0, 2.0, 3.4, 2.5}));
  EXPECT_THAT(decide(all, kRmse).verdict, StartsWith("Mixing does not help"));
}

TEST(References, SteadinessIsSaidOfBothSides) {
  EXPECT_THAT(
      decide(rows(), kRmse).reason,
      AllOf(HasSubstr("Steadiness: over 4 splits, Gaussian around the own position, h 2 varied by 1.400 "
                      "(6.000 to 7.400), 1h1l by 1.200 (4.100 to 5.300)."),
            HasSubstr("paired by split"), HasSubstr("\n4 splits.")));
}

}  // namespace
}  // namespace headtorch::probe
