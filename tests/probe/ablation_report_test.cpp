#include "src/probe/ablation_report.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "src/core/error.hpp"

namespace headtorch::probe {
namespace {

using testing::ElementsAre;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// ---- changes

TEST(Change, of_equal_examples_is_the_paired_t_interval) {
  const ExampleResults before{{1.0, 2.0, 4.0}, {1, 1, 1}, {1, 1, 0}};
  const ExampleResults after{{1.1, 2.2, 4.3}, {1, 1, 1}, {1, 0, 0}};
  const Change found = change(before, after);
  // Differences .1, .2, .3: mean .2, standard deviation .1; t with 2 degrees of freedom: t / sqrt(2 + t^2) =
  // .95.
  const double half = std::sqrt(1.805 / 0.0975) * 0.1 / std::sqrt(3.0);
  EXPECT_NEAR(found.loss.value, 0.2, 1e-12);
  EXPECT_NEAR(found.loss.low, 0.2 - half, 1e-12);
  EXPECT_NEAR(found.loss.high, 0.2 + half, 1e-12);
  EXPECT_NEAR(found.accuracy.value, -1.0 / 3.0, 1e-12);
  EXPECT_EQ(found.loss.rows, 3);
}

TEST(Change, G29_counts_positions_not_examples) {
  const ExampleResults before{{0.0, 0.0}, {1, 9}, {0, 9}}, after{{1.0, 0.0}, {1, 9}, {1, 0}};
  EXPECT_NEAR(change(before, after).loss.value, 0.1, 1e-12);
  EXPECT_NEAR(change(before, after).accuracy.value, -0.8, 1e-12);
}

TEST(Change, of_nothing_is_exactly_nothing) {
  const ExampleResults results{{0.3, 0.7, 0.1}, {2, 5, 3}, {1, 1, 3}};
  const Change found = change(results, results);
  for (const double value : {found.loss.value, found.loss.low, found.loss.high, found.accuracy.value})
    EXPECT_EQ(value, 0.0);
}

TEST(Change, of_one_example_has_no_interval_and_of_none_no_value) {
  const ExampleResults one{{0.3}, {2}, {1}}, uncounted{{0.0, 0.0}, {0, 0}, {0, 0}};
  EXPECT_TRUE(std::isnan(change(one, one).loss.low));
  EXPECT_TRUE(std::isnan(change(uncounted, uncounted).loss.value));
  EXPECT_THROW(change(one, uncounted), ShapeError);
}

TEST(ExampleResults, means_are_over_positions_and_sequences) {
  const ExampleResults results{{2.0, 2.0, 5.0}, {1, 2, 3}, {1, 1, 3}};
  EXPECT_NEAR(results.mean_loss(), 1.5, 1e-12);
  EXPECT_NEAR(results.token_accuracy(), 5.0 / 6.0, 1e-12);
  EXPECT_NEAR(results.sequence_accuracy(), 2.0 / 3.0, 1e-12);
  EXPECT_TRUE(std::isnan(ExampleResults{}.mean_loss()));
}

// ---- what follows from them

Replaced costing(double uniform, std::optional<double> kernel) {
  Replaced replaced;
  replaced.uniform.loss.value = uniform;
  if (kernel) replaced.kernel_replaced = Change{{.value = *kernel}, {}};
  return replaced;
}

TEST(BehaviourShare, is_one_for_a_kernel_that_costs_nothing_and_absent_where_nothing_is_lost) {
  EXPECT_NEAR(*costing(2.0, 0.0).behaviour_share(), 1.0, 1e-12);
  EXPECT_NEAR(*costing(2.0, 0.5).behaviour_share(), 0.75, 1e-12);
  EXPECT_NEAR(*costing(2.0, 3.0).behaviour_share(), -0.5, 1e-12);
  EXPECT_NEAR(*costing(0.05, 0.0).behaviour_share(), 1.0, 1e-12);
  EXPECT_FALSE(costing(0.0499, 0.0).behaviour_share());
  EXPECT_FALSE(costing(-1.0, 0.0).behaviour_share());
  EXPECT_FALSE(costing(kNan, 0.0).behaviour_share());
  EXPECT_FALSE(costing(2.0, std::nullopt).behaviour_share());
}

HeadAblation head(std::int64_t index, double removal, double low, double importance, double entropy) {
  HeadAblation made{.place = {0, index}, .importance = importance, .entropy_normalised = entropy};
  made.replaced.removed.loss = {.value = removal, .low = low};
  return made;
}

TEST(HeadAblation, is_dispensable_when_removal_costs_less_than_its_interval) {
  EXPECT_TRUE(head(0, 0.01, -0.01, 0, 0).dispensable());
  EXPECT_TRUE(head(0, 0.0, 0.0, 0, 0).dispensable());
  EXPECT_FALSE(head(0, 0.02, 0.01, 0, 0).dispensable());
  EXPECT_FALSE(head(0, 0.02, kNan, 0, 0).dispensable());
}

TEST(CompareHeads, sets_controls_from_the_other_heads) {
  AblationReport report;
  report.heads = {head(0, 3.0, 2, 0.9, 0.10), head(1, 0.0, 0, 0.1, 0.90), head(2, 1.5, 1, 0.4, 0.85)};
  compare_heads(report);
  EXPECT_NEAR(report.heads[0].random_head, 0.75, 1e-12);
  EXPECT_NEAR(report.heads[1].random_head, 2.25, 1e-12);
  EXPECT_EQ(report.heads[0].like_entropy, (HeadPlace{0, 2}));
  EXPECT_EQ(report.heads[1].like_entropy, (HeadPlace{0, 2}));
  EXPECT_EQ(report.heads[2].like_entropy, (HeadPlace{0, 1}));
  EXPECT_EQ(report.heads[2].like_entropy_loss, 0.0);
  EXPECT_NEAR(report.importance_correlation, 1.0, 1e-12);
  AblationReport alone;
  alone.heads = {head(0, 3.0, 2, 0.9, 0.1)};
  compare_heads(alone);
  EXPECT_TRUE(std::isnan(alone.heads[0].random_head));
  EXPECT_FALSE(alone.heads[0].like_entropy);
}

// scipy.stats.spearmanr of the same numbers, SciPy 1.x documentation.
TEST(RankCorrelation, equals_spearmans) {
  EXPECT_NEAR(rank_correlation({1, 2, 3, 4, 5}, {5, 6, 7, 8, 7}), 0.82078268166812329, 1e-12);
  EXPECT_NEAR(rank_correlation({1, 2, 3}, {1, 10, 1000}), 1.0, 1e-12);
  EXPECT_NEAR(rank_correlation({1, 2, 3}, {3, 2, 1}), -1.0, 1e-12);
  EXPECT_TRUE(std::isnan(rank_correlation({1, 2}, {1, 2})));
  EXPECT_TRUE(std::isnan(rank_correlation({1, 2, 3}, {4, 4, 4})));
  EXPECT_TRUE(std::isnan(rank_correlation({1, 2, kNan}, {4, 5, 6})));
  EXPECT_THROW(rank_correlation({1, 2, 3}, {1, 2}), ShapeError);
}

// ---- order of removal

constexpr HeadPlace kA{0, 0}, kB{0, 1}, kC{1, 0};

TEST(GreedyOrder, takes_the_cheapest_again_and_again) {
  const std::map<HeadPlace, double> costs = {{kA, 2.0}, {kB, 0.5}, {kC, 1.0}};
  int calls = 0;
  const auto order = greedy_order({kA, kB, kC}, [&](const std::vector<HeadPlace>& removed) {
    ++calls;
    double sum = 0.0;
    for (const HeadPlace& place : removed) sum += costs.at(place);
    return sum;
  });
  EXPECT_THAT(order, ElementsAre(kB, kC, kA));
  EXPECT_EQ(calls, 3 + 2) << "the last head needs no choice";
}

TEST(GreedyOrder, keeps_one_of_two_copies) {
  // A and B do the same: only both together are missed. C is missed a little.
  const auto order = greedy_order({kA, kB, kC}, [](const std::vector<HeadPlace>& removed) {
    const auto gone = [&](const HeadPlace& place) {
      return std::find(removed.begin(), removed.end(), place) != removed.end();
    };
    return (gone(kA) && gone(kB) ? 5.0 : 0.0) + (gone(kC) ? 1.0 : 0.0);
  });
  EXPECT_THAT(order, ElementsAre(kA, kC, kB));
}

TEST(GreedyOrder, ends_for_one_head_none_and_losses_that_are_no_numbers) {
  const auto nan = [](const std::vector<HeadPlace>&) { return kNan; };
  EXPECT_TRUE(greedy_order({}, nan).empty());
  EXPECT_THAT(greedy_order({kC}, nan), ElementsAre(kC));
  EXPECT_THAT(greedy_order({kA, kB, kC}, nan), ElementsAre(kA, kB, kC));
}

}  // namespace
}  // namespace headtorch::probe
