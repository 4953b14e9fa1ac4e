#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <limits>

#include "src/core/error.hpp"
#include "src/probe/head_reader.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/head_maps.hpp"
#include "tests/support/read_heads.hpp"

// What a HeadReader refuses, and inputs at the edge of what it takes.

namespace headtorch::probe {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using test::random_maps;
using test::read;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kFloat = 1e-5;  // weights are recorded in float32

AttentionMaps three_keys(std::vector<float> values, bool causal = false) {
  AttentionMaps maps;
  maps.causal = causal;
  maps.layers = {{.samples = 1, .heads = 1, .queries = 3, .keys = 3, .values = std::move(values)}};
  return maps;
}

TEST(HeadReader, G03_weights_after_dropout_are_refused) {
  const auto refused = [](const AttentionMaps& maps, const ::testing::Matcher<std::string>& why) {
    return test::fails([&] { (void)read(maps); }, ExitCode::kBadConfig, why);
  };
  EXPECT_TRUE(
      refused(three_keys({1.25F, 0, 0, 0, 1, 0, 0, 0, 1}),
              AllOf(HasSubstr("layer 0, head 0, input 0, query 0"), HasSubstr("1.25"), HasSubstr("0 to 1"))));
  EXPECT_TRUE(refused(three_keys({1, 0, 0, 0, 0.5F, 0.2F, 0, 0, 1}),
                      AllOf(HasSubstr("query 1"), HasSubstr("sum to 0.7"), HasSubstr("before dropout"))));
  EXPECT_TRUE(refused(three_keys({1, 0, 0, 0, -0.1F, 1, 0, 0, 1}), HasSubstr("key 1 is -0.1")));
  EXPECT_TRUE(
      refused(three_keys({1, 0, 0, 0, 1, 0, 0, 0, NAN}), AllOf(HasSubstr("query 2"), HasSubstr("nan"))));
  EXPECT_TRUE(refused(three_keys({1, 0, 0, 0, 1, 0, 0, 0, INFINITY}), HasSubstr("inf")));
  EXPECT_TRUE(refused(three_keys({0.5F, 0.5F, 0, 0, 1, 0, 0, 0, 1}, true),
                      AllOf(HasSubstr("query 0"), HasSubstr("may not see"))));
  AttentionMaps padded = three_keys({0.5F, 0.5F, 0, 0, 0.5F, 0.5F, 0, 0, 0});
  padded.lengths = {2};
  EXPECT_TRUE(refused(padded, AllOf(HasSubstr("query 1"), HasSubstr("may not see"))));
}

TEST(HeadReader, AddsNothingOfInputsItRefuses) {
  const AttentionMaps good = random_maps(2, 3.0, {.samples = 3, .tokens = 5});
  AttentionMaps bad = random_maps(2, 3.0, {.samples = 3, .tokens = 5, .seed = 9});
  bad.layers[0].values.back() = 2.0F;
  HeadReader reader({});
  reader.fit(good);
  EXPECT_THROW(reader.fit(bad), ConfigError);
  EXPECT_EQ(reader.reports()[0].score("entropy").value, read(good)[0].score("entropy").value);
}

TEST(HeadReader, RefusesPartsThatDoNotFit) {
  const auto refused = [](const std::function<void(HeadReader&)>& act, const std::string& why) {
    return test::fails(
        [&] {
          HeadReader reader({});
          act(reader);
        },
        ExitCode::kInternal, HasSubstr(why));
  };
  const AttentionMaps maps = random_maps(2, 3.0, {.samples = 2, .tokens = 5});
  EXPECT_TRUE(refused([](HeadReader& reader) { (void)reader.reports(); }, "no inputs"));
  EXPECT_TRUE(refused([](HeadReader& reader) { reader.fit({}); }, "no layers"));
  EXPECT_TRUE(refused([&](HeadReader& reader) { reader.repeated(maps); }, "before any inputs"));
  EXPECT_TRUE(refused(
      [&](HeadReader& reader) {
        reader.fit(maps);
        reader.fit(random_maps(2, 3.0, {.samples = 2, .tokens = 6}));
      },
      "inputs before"));
  EXPECT_TRUE(refused(
      [&](HeadReader& reader) {
        reader.judge(maps);
        reader.fit(maps);
      },
      "after inputs to judge"));
  EXPECT_TRUE(refused(
      [&](HeadReader& reader) {
        AttentionMaps short_ids = maps;
        short_ids.ids[1].pop_back();
        reader.fit(short_ids);
      },
      "4 tokens in input 1"));
  EXPECT_TRUE(refused(
      [&](HeadReader& reader) {
        AttentionMaps lengths = maps;
        lengths.lengths = {5, 6};
        reader.fit(lengths);
      },
      "length 6"));
  EXPECT_TRUE(refused(
      [&](HeadReader& reader) {
        AttentionMaps cut = maps;
        cut.layers[0].values.pop_back();
        reader.fit(cut);
      },
      "holds 99 values"));
  HeadReaderOptions few;
  few.row_importance = {{1.0, 2.0}};
  EXPECT_TRUE(
      test::fails([&] { (void)read(maps, few); }, ExitCode::kInternal, HasSubstr("2 row importances")));
  few.row_importance = {std::vector<double>(10, kNaN)};
  EXPECT_TRUE(
      test::fails([&] { (void)read(maps, few); }, ExitCode::kBadConfig, HasSubstr("importance is nan")));
}

TEST(HeadReader, OneTokenOneHeadOneInput) {
  AttentionMaps maps;
  maps.layers = {{.samples = 1, .heads = 1, .queries = 1, .keys = 1, .values = {1.0F}}};
  const HeadReport head = read(maps, {.row_importance = {{1.0}}, .kernel_by_row = true}).front();
  EXPECT_EQ(head.score("entropy").value, 0.0);
  EXPECT_EQ(head.score("entropy").rows, 1);
  EXPECT_TRUE(std::isnan(head.score("entropy").low));
  EXPECT_EQ(head.score("entropy_normalised").rows, 0);
  EXPECT_EQ(head.score("previous_token").rows, 0);
  EXPECT_TRUE(std::isnan(head.score("previous_token").value));
  EXPECT_EQ(head.score("similarity").rows, 0);
  EXPECT_FALSE(head.like_head);
  EXPECT_EQ(head.kernel.nature, "uniform");
  EXPECT_TRUE(head.labels.empty());
  EXPECT_EQ(sentence(head), "L0H0 never has two keys to choose from");
}

TEST(HeadReader, RowsThatSeeNothingCountNowhere) {
  const AttentionMaps maps = three_keys({0.5F, 0.25F, 0.25F, 0, 0, 0, 0, 0, 1});
  const HeadReport head = read(maps).front();
  EXPECT_EQ(head.score("entropy").rows, 2);
  EXPECT_EQ(head.score("previous_token").rows, 1);
  EXPECT_NEAR(head.score("max_weight").value, 0.75, kFloat);
  AttentionMaps nothing = three_keys(std::vector<float>(9, 0.0F));
  nothing.lengths = {0};
  const HeadReport none = read(nothing).front();
  EXPECT_EQ(none.score("entropy").rows, 0);
  EXPECT_TRUE(none.labels.empty());
  EXPECT_EQ(none.kernel.nature, "uniform");
}

TEST(HeadReader, CrossAttentionHasNoPositionsOrTokensInCommon) {
  AttentionMaps maps;
  maps.ids = {{1, 1, 1}};
  maps.layers = {{.samples = 1, .heads = 1, .queries = 2, .keys = 3, .values = {0.5F, 0.5F, 0, 0, 0, 1}}};
  const HeadReport head = read(maps).front();
  for (const char* name : {"previous_token", "duplicate_token", "induction", "mean_distance", "effective_df",
                           "identity", "local", "previous_token_tl", "induction_tl_abs"}) {
    EXPECT_EQ(head.score(name).rows, 0) << name;
  }
  EXPECT_NEAR(head.score("max_weight").value, 0.75, kFloat);
  EXPECT_EQ(head.score("sink").rows, 2);
  EXPECT_EQ(head.kernel.families.size(), 6U);  // one key, slopes 1, -1, 0, and 2, -2 from corner to corner
}

}  // namespace
}  // namespace headtorch::probe
