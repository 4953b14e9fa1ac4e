#include "src/report/page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "src/core/philox.hpp"
#include "src/report/page_maps.hpp"
#include "tests/report/samples.hpp"
#include "tests/support/errors.hpp"

namespace headtorch::report {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::size_t kFiveMegabytes = 5'000'000;

AttentionMaps noise(std::int64_t layers, std::int64_t samples, std::int64_t heads, std::int64_t length) {
  AttentionMaps maps;
  Random random(3, 0);
  for (std::int64_t l = 0; l < layers; ++l) {
    LayerWeights layer{samples, heads, length, length, {}};
    for (std::int64_t i = 0; i < samples * heads * length * length; ++i)
      layer.values.push_back(static_cast<float>(random.uniform()));
    maps.layers.push_back(std::move(layer));
  }
  const std::vector<std::string> tokens(static_cast<std::size_t>(length), "token");
  maps.tokens.assign(static_cast<std::size_t>(samples), tokens);
  return maps;
}

/// Only sizes: what a plan looks at.
AttentionMaps sizes(std::int64_t layers, std::int64_t samples, std::int64_t heads, std::int64_t length) {
  AttentionMaps maps;
  for (std::int64_t l = 0; l < layers; ++l)
    maps.layers.push_back({samples, heads, length, length, {}, Stack::kSelf, l});
  return maps;
}

std::string data_block(const std::string& html) {
  const std::string open = "id=\"data\">";
  const std::size_t begin = html.find(open) + open.size();
  return html.substr(begin, html.find("</script>", begin) - begin);
}

std::vector<int> codes(const std::string& base64) {
  static const std::string kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<int> bytes;
  unsigned bits = 0;
  int n_bits = 0;
  for (const char c : base64) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<unsigned>(kDigits.find(c));
    n_bits += 6;
    if (n_bits >= 8) {
      n_bits -= 8;
      bytes.push_back(static_cast<int>(bits >> n_bits & 0xff));
    }
  }
  return bytes;
}

/// The first layer of the last step, as the page's script reads it.
std::vector<double> weights_of(const std::string& html) {
  const json document = json::parse(data_block(html));
  const json& layer = document["moments"].back()["layers"][0];
  const double low = layer["low"], high = layer["high"], power = document["power"];
  std::vector<double> weights;
  for (const int code : codes(layer["codes"]))
    weights.push_back(code == 255 ? NAN : low + (high - low) * std::pow(code / 254.0, power));
  return weights;
}

Page of_maps(AttentionMaps maps) {
  Page page;
  page.title = "test";
  page.maps.push_back(std::move(maps));
  return page;
}

TEST(Page, twenty_steps_of_4_layers_8_heads_64_tokens_stay_below_5_megabytes) {
  Page contents;
  contents.maps.assign(20, noise(4, 8, 8, 64));
  for (std::size_t step = 0; step < 20; ++step) contents.maps[step].step = static_cast<std::int64_t>(step);
  contents.kernels = contents.maps.back();
  const std::string html = page(contents);
  EXPECT_LT(html.size(), kFiveMegabytes);
  const json document = json::parse(data_block(html));
  EXPECT_EQ(document["moments"].size(), 20u) << "no step is left out";
  EXPECT_GT(document["moments"].back()["tokens"].size(), 1u) << "more samples of the last step";
  EXPECT_EQ(document["moments"].front()["tokens"].size(), 1u);
  EXPECT_EQ(document["kernels"]["tokens"].size(), document["moments"].back()["tokens"].size());
  EXPECT_THAT(document["notes"].dump(), HasSubstr("of 8 stored samples are shown at the last step"));
}

TEST(Page, weights_are_within_1_of_255) {
  std::vector<float> values;
  for (int i = 0; i < 10'000; ++i) values.push_back(static_cast<float>(i) / 9'999.0F);
  const std::vector<double> shown = weights_of(page(of_maps(maps_of(1, 100, 100, values))));
  ASSERT_EQ(shown.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(shown[i], values[i], 1.0 / 255.0);
  EXPECT_EQ(shown.front(), 0.0);
  EXPECT_EQ(shown.back(), 1.0);
}

TEST(Page, small_weights_differ_under_the_logarithmic_scale) {
  const std::vector<double> shown =
      weights_of(page(of_maps(maps_of(1, 1, 4, {0.0001F, 0.001F, 0.01F, 0.9889F}))));
  EXPECT_NEAR(shown[0], 0.0001, 0.0001);
  EXPECT_NEAR(shown[1], 0.001, 0.0003);
  EXPECT_NEAR(shown[2], 0.01, 0.001);
}

TEST(Page, G03_weights_outside_0_to_1_keep_their_range) {
  const Page contents = of_maps(maps_of(1, 2, 2, {1.25F, -0.5F, 0.5F, NAN}));
  const std::vector<double> shown = weights_of(page(contents));
  EXPECT_NEAR(shown[0], 1.25, 1.75 / 255.0);
  EXPECT_NEAR(shown[1], -0.5, 1.75 / 255.0);
  EXPECT_NEAR(shown[2], 0.5, 1.75 / 255.0);
  EXPECT_TRUE(std::isnan(shown[3]));
  EXPECT_THAT(data_block(page(contents)), HasSubstr("between -0.5000 and 1.250"));
}

TEST(Page, G15_data_cannot_end_its_block) {
  Page contents = of_maps(maps_of(1, 2, 2, {1, 0, 0, 1}, {"</script>", "<!--"}));
  contents.title = "a & b < c";
  contents.sentences = {{{0, 0}, "</script><script>alert(1)</script>"}};
  const std::string html = page(contents);
  const std::string data = data_block(html);
  EXPECT_THAT(data, Not(HasSubstr("<")));
  EXPECT_THAT(data, HasSubstr("\\u003c/script>"));
  EXPECT_EQ(json::parse(data)["moments"][0]["tokens"][0][0], "</script>");
  EXPECT_THAT(html, HasSubstr("<title>a &amp; b &lt; c</title>"));
}

TEST(Page, G16_no_number_is_null) {
  Page contents = of_maps(maps_of(1, 1, 1, {1}));
  contents.scores = PageTable{"t", "", {"a", "b"}, {{{NAN, PageScore{}}, std::nullopt}}};
  contents.curves = {{"loss", "", {{"training", {{1, NAN}, {2, INFINITY}, {3, 1}}}}}};
  const json document = json::parse(data_block(page(contents)));
  EXPECT_TRUE(document["scores"]["rows"][0]["cells"][0].is_null());
  EXPECT_TRUE(document["scores"]["rows"][0]["cells"][1]["value"].is_null());
  EXPECT_TRUE(document["curves"][0]["lines"][0]["points"][1][1].is_null());
}

TEST(Page, text_that_is_no_utf8_is_replaced) {
  Page contents = of_maps(maps_of(1, 1, 1, {1}, {"\xff"}));
  contents.subtitle = "\xfe";
  EXPECT_EQ(json::parse(data_block(page(contents)))["moments"][0]["tokens"][0][0], "\ufffd");
}

TEST(Page, a_long_curve_is_thinned_and_keeps_its_spike_its_gap_and_its_ends) {
  PageLine line{"loss", {}};
  for (int step = 0; step < 50'000; ++step) line.points.emplace_back(step, step == 31'415 ? 100.0 : 1.0);
  line.points[7'000].second = NAN;
  Page contents;
  contents.curves = {{"loss", "", {line}}};
  const json points = json::parse(data_block(page(contents)))["curves"][0]["lines"][0]["points"];
  EXPECT_LE(points.size(), 900u);
  EXPECT_THAT(points.dump(), HasSubstr("[31415.0,100.0]"));
  EXPECT_THAT(points.dump(), HasSubstr("[7000.0,null]"));
  EXPECT_EQ(points.front()[0], 0.0);
  EXPECT_EQ(points.back()[0], 49'999.0);
  for (std::size_t i = 1; i < points.size(); ++i) EXPECT_LT(points[i - 1][0], points[i][0]);
}

TEST(Page, equal_contents_give_equal_bytes) {
  EXPECT_EQ(page(of_maps(g13_maps())), page(of_maps(g13_maps())));
}

TEST(Page, what_does_not_fit_together_is_refused) {
  const auto refused = [](const Page& contents, const char* what) {
    return test::fails([&] { page(contents); }, ExitCode::kInternal, HasSubstr(what));
  };
  Page contents = of_maps(g13_maps());
  contents.kernels = shifted_maps(1, 4);
  EXPECT_TRUE(refused(contents, "kernels have another shape"));
  contents = of_maps(g13_maps());
  contents.maps.push_back(shifted_maps(1, 4));
  EXPECT_TRUE(refused(contents, "an earlier step"));
  contents = of_maps(AttentionMaps{});
  EXPECT_TRUE(refused(contents, "without a layer"));
  contents = Page{};
  contents.kernels = g13_maps();
  EXPECT_TRUE(refused(contents, "kernels without weights"));
  contents = Page{};
  contents.compare = PageTable{"t", "", {"a", "b"}, {{{1.0}, std::nullopt}}};
  EXPECT_TRUE(refused(contents, "has 1 cells, expected 2"));
}

TEST(PagePlan, a_small_run_is_kept_whole) {
  const PagePlan plan = plan_page({sizes(2, 3, 4, 16), sizes(2, 3, 4, 16)}, true);
  EXPECT_THAT(plan.moments, ElementsAre(0, 1));
  EXPECT_THAT(plan.samples, ElementsAre(3, 3));
  EXPECT_TRUE(plan.kernels);
  EXPECT_EQ(plan.block, 1);
}

TEST(PagePlan, too_many_steps_are_spread_evenly_and_the_last_stays) {
  // A sample of a step is 1,048,576 cells: three fit into 3,500,000.
  const std::vector<AttentionMaps> maps(9, sizes(4, 2, 4, 256));
  const PagePlan plan = plan_page(maps, false);
  EXPECT_THAT(plan.moments, ElementsAre(0, 4, 8));
  EXPECT_THAT(plan.samples, ElementsAre(1, 1, 1));
}

TEST(PagePlan, G17_512_tokens_of_4_layers_and_8_heads_are_not_joined) {
  const PagePlan plan = plan_page({sizes(4, 4, 8, 512), sizes(4, 4, 8, 512)}, true);
  EXPECT_THAT(plan.moments, ElementsAre(1));
  EXPECT_THAT(plan.samples, ElementsAre(1));
  EXPECT_TRUE(plan.kernels);
  EXPECT_EQ(plan.block, 1);
}

TEST(PagePlan, beyond_the_largest_size_cells_are_joined_and_it_is_said) {
  EXPECT_EQ(plan_page({sizes(4, 1, 8, 2048)}, true).block, 3);
  EXPECT_FALSE(plan_page({sizes(4, 1, 8, 2048)}, true).kernels);
  EXPECT_THAT(plan_notes({sizes(4, 1, 8, 2048)}, plan_page({sizes(4, 1, 8, 2048)}, true)).back(),
              HasSubstr("the largest weight of 3 × 3: all 2048 × 2048"));
}

TEST(PagePlan, a_joined_cell_is_the_largest_and_is_named_by_its_first_token) {
  PagePlan plan = plan_page({g13_maps()}, false);
  plan.block = 2;
  const json document = maps_document({g13_maps()}, std::nullopt, plan);
  const json& layer = document["moments"][0]["layers"][0];
  EXPECT_EQ(layer["queries"], 2);
  EXPECT_THAT(codes(layer["codes"]), ElementsAre(254, 0, ::testing::Gt(120), ::testing::Gt(150)));
  EXPECT_EQ(document["moments"][0]["tokens"][0].dump(), R"(["0: A …","2: C …"])");
}

}  // namespace
}  // namespace headtorch::report
