#include "src/probe/verdict.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "src/core/error.hpp"
#include "tests/support/comparison_rows.hpp"

namespace headtorch::probe {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Verdict, PublishedTableOfFixedKernels) {
  EXPECT_EQ(decide(table(0.10, 0.24, 0.38, 0.998, 0.998, 0.998), kAccuracy).outcome, 3);  // reverse
  EXPECT_EQ(decide(table(0.10, 0.25, 0.30, 0.998, 0.998, 0.998), kAccuracy).outcome, 3);  // copy
  EXPECT_EQ(decide(table(0.44, 0.998, 0.90, 0.90, 0.998, 0.998), kAccuracy).outcome, 2);  // sort
  EXPECT_EQ(decide(table(0.35, 0.985, 0.90, 0.60, 0.66, 0.995), kAccuracy).outcome, 2);   // histogram
  EXPECT_EQ(decide(table(0.03, 0.43, 0.46, 0.40, 0.40, 0.998), kAccuracy).outcome, 5);    // induction
  EXPECT_EQ(decide(table(0.10, 0.35, 0.35, 0.35, 0.35, 0.50), kAccuracy).outcome,
            1);  // recall, not trained enough
}

/// The table of a task that learned heads solve, with the two rows that decide nothing.
Verdict beside(const Values& without_projections, const Values& with_kernels,
               const ComparisonMetric& metric = kAccuracy) {
  std::vector<ComparisonRow> rows = table(0.1, 0.3, 0.3, 0.3, 0.3, 0.997);
  rows.push_back(raw_dot(without_projections));
  rows.push_back(replaced(with_kernels));
  return decide(rows, metric);
}

TEST(Verdict, RowsWithoutProjectionsAndWithReplacedHeadsDecideNothing) {
  const Verdict plain = decide(table(0.1, 0.3, 0.3, 0.3, 0.3, 0.997), kAccuracy);
  for (const ComparisonMetric& metric : {kAccuracy, kLoss}) {
    const Verdict low = beside(around(0.1), around(0.1), metric),
                  high = beside(around(0.998), around(0.998), metric);
    EXPECT_EQ(low.outcome, high.outcome);
    EXPECT_EQ(low.verdict, high.verdict);
  }
  EXPECT_EQ(beside(around(0.998), around(0.998)).verdict, plain.verdict);
  EXPECT_EQ(plain.reason.find("kernels one could have written"), std::string::npos);
}

TEST(Verdict, SaysWhetherTheLearnedModelIsMoreThanItsKernels) {
  const char* more = "The learned model is more than kernels one could have written down.";
  const char* not_more = "The learned model is not clearly more than kernels one could have written down.";
  EXPECT_THAT(beside(around(0.5), around(0.6)).reason,
              AllOf(HasSubstr("With every head replaced by its nearest kernel, skill is 0.556"),
                    HasSubstr("on 0 of 4 seeds"),
                    HasSubstr("4h2l is ahead by 0.397 (95 % interval 0.397 to 0.397), paired by seed"),
                    HasSubstr(more)));
  EXPECT_THAT(beside(around(0.5), around(0.99)).reason, HasSubstr(not_more));
  EXPECT_THAT(beside(around(0.5), around(0.997)).reason, HasSubstr(not_more));
  EXPECT_THAT(beside(around(0.5), {0.5, kNaN, 0.5, 0.5}).reason, HasSubstr("cannot be said"));
  EXPECT_THAT(
      beside(around(0.97), around(0.6)).reason,
      HasSubstr("Without queries and keys: attention without query and key projections, skill 0.967"));
}

TEST(Verdict, SaysItInTheMetricsOwnUnitsWhereTheBestIsUnknown) {
  std::vector<ComparisonRow> rows = {no_mixing({2.5, 2.5}), uniform({2.4, 2.4}), learned(1, 1, {2.0, 2.0}),
                                     raw_dot({2.2, 2.2}), replaced({2.1, 2.2})};
  EXPECT_THAT(decide(rows, kLoss).reason,
              AllOf(HasSubstr("Without queries and keys: attention without query and key projections, 0.300"),
                    HasSubstr("the gain is 0.350 nats a character (0.300 to 0.400)"),
                    HasSubstr("1h1l is ahead by 0.150 nats a character"),
                    HasSubstr("is more than kernels one could have written down")));
  rows.back() = replaced({2.1, 1.9});
  EXPECT_THAT(decide(rows, kLoss).reason, HasSubstr("is not clearly more"));
}

TEST(Verdict, Outcome1NoRoomAboveNoMixing) {
  const Verdict verdict = decide(table(0.97, 0.99, 0.99, 0.99, 0.99, 0.99), kAccuracy);
  EXPECT_EQ(verdict.outcome, 1);
  EXPECT_THAT(verdict.verdict,
              AllOf(StartsWith("No verdict"), HasSubstr("0.970"), HasSubstr("nothing for attention to add")));
}

TEST(Verdict, Outcome1GapExactlyAtTheThresholdIsEnough) {
  const auto rows = [](double none) {
    return std::vector<ComparisonRow>{no_mixing({none, 0.5}), uniform({1.0, 1.0}), learned(1, 1, {1.0, 1.0})};
  };
  EXPECT_EQ(decide(rows(0.95), kAccuracy).outcome, 2);
  EXPECT_EQ(decide(rows(0.9501), kAccuracy).outcome, 1);
}

TEST(Verdict, Outcome1NothingSolvesOnEverySeedSaysHowMany) {
  const Verdict verdict =
      decide({no_mixing({0.1, 0.1, 0.1}), uniform({0.35, 0.35, 0.35}), shaped({0.4, 0.4, 0.4}),
              learned(1, 1, {0.3, 0.3, 0.3}), learned(2, 2, {1.0, 1.0, 0.5})},
             kAccuracy);
  EXPECT_EQ(verdict.outcome, 1);
  EXPECT_THAT(
      verdict.verdict,
      AllOf(StartsWith("A fixed kernel is ahead of a learned head here: in one layer, Gaussian at offset -3"),
            HasSubstr("Closest is 2h2l"), HasSubstr("solved on 2 of 3 seeds")));
  EXPECT_THAT(verdict.reason, HasSubstr("3 seeds"));
}

TEST(Verdict, Outcome2UniformSolves) {
  const Verdict verdict = decide(table(0.44, 0.998, 0.9, 0.9, 0.998, 0.998), kAccuracy);
  EXPECT_EQ(verdict.outcome, 2);
  EXPECT_THAT(verdict.verdict, StartsWith("Averaging is enough: uniform (skill 0.996) solves"));
}

TEST(Verdict, FixedAheadOfALearnedHeadIsSaidFirst) {
  const Verdict verdict = decide(table(0.35, 0.985, 0.7, 0.6, 0.66, 0.995), kAccuracy);
  EXPECT_THAT(
      verdict.verdict,
      AllOf(StartsWith("A fixed kernel is ahead of a learned head here: in one layer, uniform (skill 0.977)"),
            HasSubstr("against 1h1l (skill 0.477). "), HasSubstr("Averaging is enough")));
}

TEST(Verdict, AheadNeedsDisjointRangesAndMeansApart) {
  const auto said = [](const Values& fixed, const Values& head) {
    return decide({no_mixing({0.0, 0.0}), uniform(fixed), learned(1, 1, head)}, kAccuracy)
        .verdict.starts_with("A fixed");
  };
  EXPECT_TRUE(said({1.0, 1.0}, {0.95, 0.95}));     // exactly 0.05
  EXPECT_FALSE(said({1.0, 1.0}, {0.951, 0.951}));  // too close
  EXPECT_FALSE(said({0.96, 1.0}, {0.96, 0.5}));    // ranges touch
  EXPECT_FALSE(said({0.96, 1.0}, {kNaN, 0.5}));
}

TEST(Verdict, SolvedExactlyAtTheThreshold) {
  // Skill (0.959 - 0.18) / 0.82 is 0.95 on paper and 0.9499999999999998 in doubles.
  const auto outcome = [](double value) {
    return decide({no_mixing({0.18, 0.18}), uniform({value, 1.0}), learned(1, 1, {0.2, 0.2})}, kAccuracy)
        .outcome;
  };
  EXPECT_EQ(outcome(0.959), 2);
  EXPECT_EQ(outcome(0.9589), 1);
}

TEST(Verdict, Outcome3NamesTheKernelAndItsLine) {
  const Verdict by_shape = decide(table(0.1, 0.25, 0.3, 0.998, 0.998, 0.998), kAccuracy);
  EXPECT_EQ(by_shape.outcome, 3);
  EXPECT_THAT(by_shape.verdict,
              AllOf(StartsWith("A fixed kernel is enough: Gaussian at offset -3, h 0.35 (skill 0.998)"),
                    HasSubstr("one shaped for this kind of task"),
                    HasSubstr("No generic kernel tried does; the best is Gaussian around")));
  // A generic kernel that solves is named even where a shaped one is a little better.
  const Verdict generic = decide(table(0.1, 0.25, 0.97, 0.998, 0.998, 0.998), kAccuracy);
  EXPECT_EQ(generic.outcome, 3);
  EXPECT_THAT(generic.verdict,
              AllOf(StartsWith("A fixed kernel is enough: Gaussian around"), HasSubstr("a generic one")));
}

TEST(Verdict, Outcome3AKernelThatSolvesEverySeedComesBeforeABetterMean) {
  ComparisonRow uneven = local({1.0, 0.94});
  uneven.name = "uneven";
  const Verdict verdict = decide(
      {no_mixing({0.0, 0.0}), uniform({0.5, 0.5}), uneven, local({0.95, 0.96}), learned(1, 1, {0.5, 0.5})},
      kAccuracy);
  EXPECT_EQ(verdict.outcome, 3);
  EXPECT_THAT(verdict.verdict, HasSubstr("A fixed kernel is enough: Gaussian around"));
}

TEST(Verdict, GenericAndShapedStandOnTheirOwnLines) {
  EXPECT_THAT(
      decide(table(0.1, 0.25, 0.3, 0.998, 0.998, 0.998), kAccuracy).reason,
      AllOf(HasSubstr("\nGeneric kernels: best is Gaussian around the own position, h 2, skill 0.222"),
            HasSubstr("\nKernels shaped for a task: best is Gaussian at offset -3, h 0.35, skill 0.998"),
            HasSubstr("\nBest fixed skill within the families tried: 0.998 (Gaussian at offset -3, h 0.35); "
                      "counted from uniform, 0.997")));
}

TEST(Verdict, Outcome4OneHeadSolves) {
  const Verdict clear = decide(table(0.1, 0.25, 0.3, 0.4, 0.998, 0.998), kAccuracy);
  EXPECT_EQ(clear.outcome, 4);
  EXPECT_THAT(clear.verdict, AllOf(StartsWith("One learned head is enough: 1h1l"),
                                   HasSubstr("ahead of every fixed kernel tried"),
                                   HasSubstr("the best is Gaussian at offset -3")));
  const Verdict close = decide(table(0.1, 0.25, 0.3, 0.95, 0.96, 0.998), kAccuracy);
  EXPECT_EQ(close.outcome, 4);
  EXPECT_THAT(close.verdict,
              HasSubstr("not clearly ahead of the best fixed kernel tried: Gaussian at offset -3"));
}

struct Shapes {
  double layers, heads, both;  ///< (1 head, L layers), (H heads, 1 layer), (H heads, L layers)
  std::string says;
};

TEST(Verdict, Outcome5SaysWhetherHeadsOrLayersMadeTheDifference) {
  const std::vector<Shapes> cases = {
      {1.0, 0.5, 1.0, "More layers made the difference, more heads in one layer did not."},
      {0.5, 1.0, 1.0, "More heads in one layer made the difference, more layers did not."},
      {1.0, 1.0, 1.0, "More layers or more heads make the difference: either is enough."},
      {0.5, 0.5, 1.0, "More layers and more heads together made the difference: neither alone solves it."},
      {1.0, 0.5, 0.6, "not by 1h1l (skill 0.500), 2h1l (skill 0.500) and 2h2l (skill 0.600)."},
  };
  for (const Shapes& shapes : cases) {
    const Verdict verdict =
        decide({no_mixing({0.0}), uniform({0.4}), learned(1, 1, {0.5}), learned(1, 2, {shapes.layers}),
                learned(2, 1, {shapes.heads}), learned(2, 2, {shapes.both})},
               kAccuracy);
    EXPECT_EQ(verdict.outcome, 5);
    EXPECT_THAT(verdict.verdict, AllOf(StartsWith("Several heads or layers are needed"),
                                       HasSubstr(shapes.says), HasSubstr("and not by 1h1l (skill 0.500)"),
                                       HasSubstr("The best fixed kernel tried is uniform")));
  }
}

TEST(Verdict, Outcome5ClaimsNothingThatWasNotTried) {
  const auto said = [](const ComparisonRow& more) {
    return decide({no_mixing({0.0}), uniform({0.4}), learned(1, 1, {0.5}), more}, kAccuracy).verdict;
  };
  EXPECT_THAT(said(learned(1, 2, {1.0})), HasSubstr("More layers made the difference."));
  EXPECT_THAT(said(learned(2, 1, {1.0})), HasSubstr("More heads in one layer made the difference."));
  EXPECT_THAT(said(learned(2, 2, {1.0})), HasSubstr("they were not tried apart"));
}

TEST(Verdict, ARowWithoutANumberNeitherSolvesNorLeads) {
  const Verdict verdict = decide({no_mixing({0.1, 0.1}), uniform({kNaN, 1.0}), local({kNaN, kNaN}),
                                  shaped({0.3, 0.3}), learned(1, 1, {0.99, kNaN}), learned(2, 2, {1.0, 1.0})},
                                 kAccuracy);
  EXPECT_EQ(verdict.outcome, 5);
  EXPECT_THAT(verdict.reason, AllOf(HasSubstr("uniform, skill no number on some seed"),
                                    HasSubstr("0.222 (Gaussian at offset -3"),
                                    HasSubstr("1h1l, skill no number on some seed, solved on 1 of 2 seeds")));
  EXPECT_THAT(verdict.verdict + verdict.reason, Not(HasSubstr("nan")));
}

TEST(Verdict, NoNumberWithoutMixingIsNoVerdict) {
  const Verdict verdict =
      decide({no_mixing({0.1, kNaN}), uniform({1.0, 1.0}), learned(1, 1, {1.0, 1.0})}, kAccuracy);
  EXPECT_EQ(verdict.outcome, 1);
  EXPECT_THAT(verdict.verdict, HasSubstr("gave no number on some seed"));
}

TEST(Verdict, SkillIsPairedBySeed) {
  // Each seed has its own chance level: 0.1 -> 0.55 and 0.5 -> 0.75 are both half-way.
  EXPECT_THAT(skill(uniform({0.55, 0.75}), no_mixing({0.1, 0.5}), kAccuracy),
              ::testing::Each(::testing::DoubleNear(0.5, 1e-12)));
  EXPECT_TRUE(skill(uniform({0.55}), no_mixing({0.1}), kLoss).empty());
  const Values undefined = skill(uniform({1.0, kNaN}), no_mixing({0.96, 0.1}), kAccuracy);
  EXPECT_TRUE(std::isnan(undefined[0]) && std::isnan(undefined[1]));
}

TEST(Verdict, SkillOfALossWithAKnownFloor) {
  const ComparisonMetric floor{
      .name = "loss", .higher_is_better = false, .best_possible = 0.5, .unit = "nats"};
  EXPECT_DOUBLE_EQ(skill(uniform({1.0}), no_mixing({1.5}), floor)[0], 0.5);
  EXPECT_EQ(decide({no_mixing({1.5}), uniform({0.51}), learned(1, 1, {0.5})}, floor).outcome, 2);
  EXPECT_EQ(decide({no_mixing({0.52}), uniform({0.5}), learned(1, 1, {0.5})}, floor).outcome, 1);
}

TEST(Verdict, RefusesMissingRowsAndUnequalSeeds) {
  const std::vector<ComparisonRow> rows = {no_mixing({0.1}), uniform({0.2}), learned(1, 1, {1.0})};
  for (std::size_t missing = 0; missing < rows.size(); ++missing) {
    std::vector<ComparisonRow> fewer = rows;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(missing));
    EXPECT_THROW(decide(fewer, kAccuracy), ConfigError) << missing;
  }
  EXPECT_THROW(decide({}, kAccuracy), ConfigError);
  EXPECT_THROW(decide({no_mixing({}), uniform({}), learned(1, 1, {})}, kAccuracy), ConfigError);
  EXPECT_THROW(decide({no_mixing({0.1}), uniform({0.2, 0.2}), learned(1, 1, {1.0})}, kAccuracy), ConfigError);
}

}  // namespace
}  // namespace headtorch::probe
