#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "src/core/error.hpp"
#include "src/probe/verdict.hpp"
#include "tests/support/comparison_rows.hpp"

namespace headtorch::probe {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<ComparisonRow> text(const Values& none, const Values& averaged, const Values& local_loss,
                                const Values& head, const Values& several) {
  return {no_mixing(none), uniform(averaged), local(local_loss), learned(1, 1, head), learned(4, 2, several)};
}

TEST(Verdict, Outcome6MixingDoesNotHelp) {
  const Verdict verdict =
      decide(text({2.50, 2.52, 2.48, 2.50}, {2.51, 2.50, 2.49, 2.50}, {2.52, 2.51, 2.49, 2.50},
                  {2.49, 2.53, 2.48, 2.50}, {2.52, 2.49, 2.49, 2.51}),
             kLoss);
  EXPECT_EQ(verdict.outcome, 6);
  EXPECT_THAT(verdict.verdict,
              AllOf(HasSubstr("Mixing does not help"), HasSubstr("nats a character (95 % interval -0.")));
}

TEST(Verdict, Outcome6WhenEverySeedGainsButTheIntervalHoldsZero) {
  EXPECT_EQ(decide(text({2.5, 2.5, 2.5, 2.5}, {2.49, 2.49, 2.49, 2.0}, {2.49, 2.49, 2.49, 2.0},
                        {2.49, 2.49, 2.49, 2.0}, {2.49, 2.49, 2.49, 2.0}),
                   kLoss)
                .outcome,
            6);
}

TEST(Verdict, Outcome7FixedHelpsLearningNotAhead) {
  const Verdict verdict =
      decide(text({2.50, 2.52, 2.48, 2.50}, {2.40, 2.42, 2.38, 2.40}, {2.10, 2.12, 2.08, 2.10},
                  {2.30, 2.32, 2.28, 2.30}, {2.08, 2.14, 2.05, 2.11}),
             kLoss);
  EXPECT_EQ(verdict.outcome, 7);
  EXPECT_THAT(
      verdict.verdict,
      AllOf(StartsWith(
                "A fixed kernel is ahead of a learned head here: Gaussian around the own position, h 2 is "
                "better than 1h1l, by 0.200 nats a character (95 % interval 0.200 to 0.200)"),
            HasSubstr("A fixed kernel helps, and learning is not ahead"),
            HasSubstr("lead is 0.005 nats a character (95 % interval -0.0")));
}

TEST(Verdict, Outcome8LearningIsAhead) {
  const Verdict verdict =
      decide(text({2.50, 2.52, 2.48, 2.50}, {2.40, 2.42, 2.38, 2.40}, {2.10, 2.12, 2.08, 2.10},
                  {1.95, 1.97, 1.93, 1.95}, {1.80, 1.83, 1.78, 1.79}),
             kLoss);
  EXPECT_EQ(verdict.outcome, 8);
  EXPECT_THAT(verdict.verdict,
              AllOf(StartsWith("Learning is ahead by 0.300 nats a character (95 % interval 0."),
                    HasSubstr("over no mixing the gain is 4h2l, 0.700 nats a character")));
  EXPECT_THAT(
      verdict.reason,
      AllOf(HasSubstr("\nGeneric kernels: best gain is Gaussian around"), HasSubstr("none was tried"),
            HasSubstr("\nBest fixed gain within the families tried: 0.400"), HasSubstr("\n4 seeds.")));
}

TEST(Verdict, Outcome8WhenOnlyLearningHelpsSaysTheLeadMayBeChance) {
  const Verdict verdict =
      decide(text({2.50, 2.50, 2.50, 2.50}, {2.30, 2.70, 2.30, 2.72}, {2.20, 2.70, 2.20, 2.70},
                  {2.40, 2.41, 2.40, 2.41}, {2.40, 2.42, 2.39, 2.40}),
             kLoss);
  EXPECT_EQ(verdict.outcome, 8);
  EXPECT_THAT(verdict.verdict, AllOf(StartsWith("Learning helps, and no fixed kernel clearly does"),
                                     HasSubstr("may be chance")));
}

TEST(Verdict, GainWithFewSeedsIsJudgedByItsRangeAndSaysSo) {
  const Verdict verdict = decide(text({2.5, 2.5}, {2.4, 2.4}, {2.3, 2.3}, {2.2, 2.2}, {2.1, 2.2}), kLoss);
  EXPECT_EQ(verdict.outcome, 8);
  EXPECT_THAT(verdict.reason, HasSubstr("2 seeds. Below 4 seeds"));
  EXPECT_EQ(decide(text({2.5, 2.5}, {2.4, 2.6}, {2.4, 2.5}, {2.2, 2.6}, {2.1, 2.5}), kLoss).outcome, 6);
}

TEST(Verdict, GainIgnoresRowsWithoutNumbers) {
  const Verdict learned_only =
      decide(text({2.5, 2.5}, {kNaN, 2.4}, {kNaN, 2.3}, {2.2, 2.2}, {2.1, kNaN}), kLoss);
  EXPECT_EQ(learned_only.outcome, 8);
  EXPECT_THAT(learned_only.verdict + learned_only.reason, Not(HasSubstr("nan")));
  EXPECT_EQ(decide(text({2.5, 2.5}, {2.4, 2.4}, {2.3, 2.3}, {kNaN, 2.2}, {2.1, kNaN}), kLoss).outcome, 7);
  EXPECT_EQ(decide(text({2.5, kNaN}, {2.4, 2.4}, {2.3, 2.3}, {2.2, 2.2}, {2.1, 2.1}), kLoss).outcome, 6);
}

TEST(Baseline, K10SimilarityCarriesTheTask) {
  const Verdict verdict =
      decide_baseline({no_mixing(around(0.1)), uniform(around(0.25)), local(around(0.998))}, kAccuracy);
  EXPECT_EQ(verdict.outcome, 3);
  EXPECT_THAT(verdict.verdict, AllOf(HasSubstr("carries this task"),
                                     HasSubstr("bandwidth about 2 positions: attention is likely to gain")));
}

TEST(Baseline, K10SimilarityHelpsWithoutSolving) {
  const Verdict verdict =
      decide_baseline({no_mixing(around(0.1)), uniform(around(0.25)), local(around(0.5))}, kAccuracy);
  EXPECT_EQ(verdict.outcome, 1);
  EXPECT_THAT(verdict.verdict, AllOf(HasSubstr("helps with this task, without solving it"),
                                     HasSubstr("attention is likely to gain")));
}

TEST(Baseline, K10SimilarityDoesNotHelp) {
  const Verdict beside_uniform =
      decide_baseline({no_mixing(around(0.03)), uniform(around(0.43)), local(around(0.46))}, kAccuracy);
  EXPECT_EQ(beside_uniform.outcome, 1);
  EXPECT_THAT(beside_uniform.verdict,
              AllOf(StartsWith("Similarity as defined does not help"),
                    HasSubstr("Another similarity, or more non-linearity, is needed.")));
  EXPECT_THAT(
      decide_baseline({no_mixing(around(0.3)), uniform(around(0.1)), local(around(0.3))}, kAccuracy).verdict,
      StartsWith("Similarity as defined does not help"));
}

TEST(Baseline, AveragingNeedsNoSimilarity) {
  const Verdict verdict =
      decide_baseline({no_mixing(around(0.4)), uniform(around(0.998)), local(around(0.998))}, kAccuracy);
  EXPECT_EQ(verdict.outcome, 2);
  EXPECT_THAT(verdict.verdict, HasSubstr("No similarity, and no attention, is needed."));
}

TEST(Baseline, NoRoomAndUniformAlone) {
  EXPECT_THAT(decide_baseline({no_mixing({0.97}), uniform({0.99})}, kAccuracy).verdict,
              StartsWith("No verdict"));
  EXPECT_THAT(decide_baseline({no_mixing({0.1}), uniform({0.2})}, kAccuracy).verdict,
              HasSubstr("only uniform (skill 0.111)"));
}

TEST(Baseline, LearnedRowsAreLeftOut) {
  const Verdict verdict = decide_baseline(table(0.1, 0.2, 0.2, 0.2, 0.998, 0.998), kAccuracy);
  EXPECT_EQ(verdict.outcome, 1);
  EXPECT_THAT(verdict.reason, Not(HasSubstr("Learned")));
}

TEST(Baseline, ByGainWhereTheBestIsUnknown) {
  const Verdict helps =
      decide_baseline({no_mixing({2.5, 2.5}), uniform({2.4, 2.4}), local({2.2, 2.1})}, kLoss);
  EXPECT_EQ(helps.outcome, 7);
  EXPECT_THAT(helps.verdict,
              AllOf(HasSubstr("helps with this task (gain over no mixing 0.350 nats a character"),
                    HasSubstr("bandwidth about 2 positions")));
  const Verdict averaging =
      decide_baseline({no_mixing({2.5, 2.5}), uniform({2.4, 2.4}), local({2.35, 2.42})}, kLoss);
  EXPECT_EQ(averaging.outcome, 7);
  EXPECT_THAT(averaging.verdict, StartsWith("Similarity as defined does not help"));
  EXPECT_EQ(decide_baseline({no_mixing({2.5, 2.5}), uniform({2.6, 2.4}), local({2.6, 2.4})}, kLoss).outcome,
            6);
}

}  // namespace
}  // namespace headtorch::probe
