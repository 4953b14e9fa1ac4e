#include "src/report/maps.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "src/core/error.hpp"
#include "tests/report/samples.hpp"

namespace headtorch::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(Maps, G09_each_head_has_its_own_entropy) {
  const AttentionMaps maps = shifted_maps(4, 4);
  for (std::int64_t head = 0; head < 4; ++head) {
    const auto weights = select(maps, {}).head(0, head);
    EXPECT_EQ(summarise(weights, 4, 4).entropy, 0.0) << head;
  }
  const std::vector<float> mean(16, 0.25F);
  EXPECT_NEAR(summarise(mean, 4, 4).entropy, 1.3862944, 1e-7);
}

TEST(Maps, G01_rows_that_see_nothing_are_named_and_not_averaged) {
  const std::vector<float> weights{0, 0, 0.5F, 0.5F, 0, 0};
  const HeadSummary summary = summarise(weights, 3, 2);
  EXPECT_THAT(summary.blind, ElementsAre(0, 2));
  EXPECT_NEAR(summary.entropy, std::numbers::ln2, 1e-12);
  EXPECT_EQ(summary.largest, 0.5);
  EXPECT_EQ(summary.not_numbers, 0);
}

TEST(Maps, cells_that_are_no_weights_are_counted) {
  const std::vector<float> weights{kNaN, std::numeric_limits<float>::infinity(), 0, 1.25F, -0.5F, 0.25F};
  const HeadSummary summary = summarise(weights, 3, 2);
  EXPECT_EQ(summary.not_numbers, 2);
  EXPECT_EQ(summary.outside, 2);
  EXPECT_EQ(summary.largest, 1.25);
  EXPECT_TRUE(std::isnan(summarise(std::vector<float>{kNaN}, 1, 1).entropy));
  EXPECT_TRUE(std::isnan(summarise(std::vector<float>{0}, 1, 1).entropy));
}

TEST(Maps, fewer_queries_are_the_last_tokens) {
  const AxisTokens tokens = axis_tokens(maps_of(1, 2, 3, std::vector<float>(6, 0.5F), {"a", "b", "c"}), {});
  EXPECT_THAT(tokens.query, ElementsAre("b", "c"));
  EXPECT_THAT(tokens.key, ElementsAre("a", "b", "c"));
}

TEST(Maps, positions_without_a_token_are_numbered) {
  AttentionMaps maps = maps_of(1, 2, 3, std::vector<float>(6, 0.5F), {"a", "b"});
  EXPECT_THAT(axis_tokens(maps, {}).query, ElementsAre("a", "b"));
  EXPECT_THAT(axis_tokens(maps, {}).key, ElementsAre("0", "1", "2"));
  maps.tokens.clear();
  EXPECT_THAT(axis_tokens(maps, {}).query, ElementsAre("0", "1"));
}

TEST(Maps, what_is_not_there_is_refused) {
  const AttentionMaps maps = shifted_maps(2, 3);
  EXPECT_THAT([&] { select(maps, {.layer = 1}); },
              ThrowsMessage<ConfigError>("[heatmap] layer 1, expected 0 to 0"));
  EXPECT_THAT([&] { select(maps, {.head = 2}); },
              ThrowsMessage<ConfigError>("[heatmap] head 2, expected 0 to 1"));
  EXPECT_THAT([&] { select(maps, {.head = -1}); }, ThrowsMessage<ConfigError>(HasSubstr("head -1")));
  EXPECT_THAT([&] { select(maps, {.sample = 7}); }, ThrowsMessage<ConfigError>(HasSubstr("sample 7")));
  EXPECT_THAT([&] { select(AttentionMaps{}, {}); }, ThrowsMessage<ConfigError>(HasSubstr("there is none")));
}

TEST(Maps, sizes_that_do_not_fit_are_refused) {
  EXPECT_THROW(select(maps_of(1, 2, 2, {1, 2, 3}), {}), ShapeError);
  EXPECT_THROW(select(maps_of(1, 0, 0, {}, {"a"}), {}), ShapeError);
  EXPECT_THROW(select(maps_of(1, -1, -1, {1}, {"a"}), {}), ShapeError);
}

}  // namespace
}  // namespace headtorch::report
