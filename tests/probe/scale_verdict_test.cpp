#include "src/probe/scale_verdict.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/errors.hpp"

// Grids made by hand.

namespace headtorch::probe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

ScaleTraining training(double test_loss) {
  ScaleTraining one;
  one.first_loss = 2.0;
  one.last_loss = one.test_loss = test_loss;
  return one;
}

/// Losses of one scale by rate, the same for `seeds` seeds.
ScaleGridRow row(const std::string& scale, const std::vector<double>& losses, std::size_t seeds = 3) {
  ScaleGridRow made{scale, {}};
  for (const double loss : losses) made.trainings.emplace_back(seeds, training(loss));
  return made;
}

const std::vector<double> kRates = {1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3};

TEST(ScaleVerdict, diverged_is_a_loss_that_is_no_number_or_above_its_start) {
  EXPECT_FALSE(diverged(training(1.0)));
  EXPECT_FALSE(diverged(training(2.05)));  // learned nothing, but did not get worse than its noise
  EXPECT_TRUE(diverged(training(2.2)));
  EXPECT_TRUE(diverged(training(kNaN)));
  ScaleTraining broken = training(1.0);
  broken.last_loss = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(diverged(broken));
}

TEST(ScaleVerdict, confirms_the_advice_where_it_holds) {
  const ScaleGrid grid{
      kRates, {row("none", {0.9, 0.3, 1.0, 1.8, 2.5, kNaN}), row("sqrt", {1.9, 1.5, 0.9, 0.2, 0.5, 2.9})}};
  const ScaleVerdict verdict = judge_scale(grid);
  EXPECT_EQ(verdict.rate, Answer::kConfirmed);
  EXPECT_EQ(verdict.tenfold, Answer::kConfirmed);
  EXPECT_EQ(verdict.outcome, Answer::kConfirmed);
  EXPECT_THAT(verdict.best[0].by_seed, ElementsAre(3e-5, 3e-5, 3e-5));
  EXPECT_NEAR(verdict.ratio, 10.0, 1e-9);
  EXPECT_DOUBLE_EQ(verdict.best[0].largest.value(), 1e-4);
  EXPECT_DOUBLE_EQ(verdict.best[1].largest.value(), 1e-3);
  EXPECT_NEAR(verdict.largest_ratio.value(), 10.0, 1e-9);
  EXPECT_THAT(verdict.verdict, HasSubstr("is confirmed here"));
  EXPECT_FALSE(verdict.best[1].at_edge);
}

TEST(ScaleVerdict, does_not_confirm_where_both_work_best_at_one_high_rate) {
  const ScaleGrid grid{
      kRates, {row("none", {1.9, 1.8, 1.5, 1.0, 0.2, 0.5}), row("sqrt", {1.9, 1.8, 1.5, 1.0, 0.1, 0.5})}};
  const ScaleVerdict verdict = judge_scale(grid);
  EXPECT_EQ(verdict.rate, Answer::kNotConfirmed);
  EXPECT_EQ(verdict.tenfold, Answer::kNotConfirmed);
  EXPECT_EQ(verdict.outcome, Answer::kNotConfirmed);
  EXPECT_THAT(verdict.verdict, HasSubstr("is not confirmed here"));
}

TEST(ScaleVerdict, one_part_that_fails_is_enough) {
  const ScaleGrid grid{
      kRates, {row("none", {1.9, 1.8, 1.5, 0.2, 1.5, 1.9}), row("sqrt", {1.9, 1.8, 1.5, 0.2, 1.5, 1.9})}};
  const ScaleVerdict verdict = judge_scale(grid);
  EXPECT_EQ(verdict.rate, Answer::kConfirmed);
  EXPECT_EQ(verdict.tenfold, Answer::kNotConfirmed);
  EXPECT_EQ(verdict.outcome, Answer::kNotConfirmed);
}

TEST(ScaleVerdict, the_largest_rates_that_learn_may_show_the_ratio_too) {
  const ScaleGrid grid{
      kRates, {row("none", {1.9, 1.5, 0.2, kNaN, kNaN, kNaN}), row("sqrt", {1.9, 1.5, 0.2, 0.3, 0.4, 2.0})}};
  const ScaleVerdict verdict = judge_scale(grid);
  EXPECT_NEAR(verdict.ratio, 1.0, 1e-9);
  EXPECT_EQ(verdict.tenfold, Answer::kConfirmed);
}

TEST(ScaleVerdict, seeds_that_disagree_leave_it_open) {
  ScaleGrid grid{kRates,
                 {row("none", {0.9, 0.3, 1.0, 1.8, 1.9, 1.9}), row("sqrt", {1.9, 1.5, 0.9, 0.2, 0.5, 1.9})}};
  grid.rows[1].trainings[4][1] = training(0.1);  // one seed works best at 1e-3
  const ScaleVerdict verdict = judge_scale(grid);
  EXPECT_EQ(verdict.rate, Answer::kOpen);
  EXPECT_EQ(verdict.outcome, Answer::kOpen);
  EXPECT_DOUBLE_EQ(verdict.best[1].low, std::exp(std::log(3e-4)));
  EXPECT_NEAR(verdict.best[1].high, 1e-3, 1e-12);
  EXPECT_THAT(verdict.verdict, HasSubstr("neither confirmed nor refuted"));
}

TEST(ScaleVerdict, from_four_seeds_on_the_interval_decides) {
  ScaleGrid grid{
      kRates,
      {row("none", {0.9, 0.3, 1.0, 1.8, 1.9, 1.9}, 4), row("sqrt", {1.9, 1.5, 0.9, 0.2, 0.5, 1.9}, 4)}};
  grid.rows[1].trainings[4][1] = training(0.1);
  const BestRate best = judge_scale(grid).best[1];
  // Student's t with 3 degrees of freedom times the standard error of the mean logarithm, 3.182 / 4 of a
  // step.
  const double step = std::log(1e-3 / 3e-4), mean = std::log(3e-4) + step / 4.0;
  EXPECT_NEAR(best.low, std::exp(mean - 3.18244630528371 * step / 4.0), 1e-9);
  EXPECT_NEAR(best.high, std::exp(mean + 3.18244630528371 * step / 4.0), 1e-9);
}

TEST(ScaleVerdict, says_so_when_a_scale_learns_nothing_or_works_best_at_an_edge) {
  const ScaleGrid nothing{
      kRates, {row("none", {1.95, 1.9, 1.9, 1.9, 1.9, 1.9}), row("sqrt", {1.9, 1.5, 0.9, 0.2, 0.5, 1.9})}};
  const ScaleVerdict open = judge_scale(nothing);
  EXPECT_EQ(open.outcome, Answer::kOpen);
  EXPECT_THAT(open.verdict, HasSubstr("No verdict: scale none learns too little"));
  EXPECT_TRUE(open.best[0].by_seed.empty());
  const ScaleGrid edge{
      kRates, {row("none", {1.9, 1.9, 1.5, 0.9, 0.5, 0.2}), row("sqrt", {1.9, 1.9, 1.5, 0.9, 0.5, 0.2})}};
  EXPECT_TRUE(judge_scale(edge).best[0].at_edge);
  EXPECT_THAT(judge_scale(edge).reason, HasSubstr("at the edge of the rates tried"));
}

TEST(ScaleVerdict, finds_from_which_rate_on_a_scale_diverges_and_saturates) {
  ScaleGrid grid{kRates,
                 {row("none", {0.9, 0.3, 1.0, 1.8, 1.9, 1.9}), row("sqrt", {1.9, 1.5, 0.9, 0.2, 0.5, 1.9})}};
  grid.rows[0].trainings[4][2] = training(kNaN);
  for (ScaleTraining& one : grid.rows[0].trainings[3]) one.saturated = 0.6;
  const std::vector<BestRate> best = judge_scale(grid).best;
  EXPECT_EQ(best[0].diverges_from, 1e-3);
  EXPECT_EQ(best[0].saturates_from, 3e-4);
  EXPECT_FALSE(best[1].diverges_from.has_value());
  EXPECT_FALSE(best[1].saturates_from.has_value());
}

TEST(ScaleVerdict, refuses_grids_that_are_none) {
  const auto refused = [](const ScaleGrid& grid, const std::string& part) {
    return test::fails([&] { judge_scale(grid); }, ExitCode::kBadConfig, HasSubstr(part));
  };
  EXPECT_TRUE(refused({{1e-3}, {row("sqrt", {1.0})}}, "sqrt and none"));
  EXPECT_TRUE(refused({{1e-3}, {row("sqrt", {1.0}), row("none", {1.0, 2.0})}}, "row none"));
  EXPECT_TRUE(refused({{1e-3}, {row("sqrt", {1.0}, 0), row("none", {1.0}, 0)}}, "row sqrt"));
  EXPECT_TRUE(refused({{}, {row("sqrt", {}), row("none", {})}}, "no rates"));
}

}  // namespace
}  // namespace headtorch::probe
