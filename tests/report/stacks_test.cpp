#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "src/core/error.hpp"
#include "src/report/arrays.hpp"
#include "src/report/figures.hpp"
#include "src/report/heatmap.hpp"
#include "src/report/page_maps.hpp"
#include "src/report/terminal.hpp"
#include "tests/report/samples.hpp"
#include "tests/support/errors.hpp"

// Layers of an encoder-decoder, and keys that are patches of an image.

namespace headtorch::report {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Two target tokens looking at three source tokens.
AttentionMaps cross_maps() {
  AttentionMaps maps = maps_of(1, 2, 3, {0.5F, 0.25F, 0.25F, 0, 0, 1}, {"x", "y"});
  maps.source.tokens = {{"A", "B", "C"}};
  maps.layers[0].stack = Stack::kCross;
  maps.layers[0].layer = 1;
  return maps;
}

/// A question token and 2 x 2 patches of 2 x 2 pixels, seen from one target token.
AttentionMaps image_maps() {
  AttentionMaps maps = maps_of(1, 1, 5, {0.2F, 0, 0, 0.8F, 0}, {"1"});
  maps.source.tokens = {{"q", "p", "p", "p", "p"}};
  maps.layers[0].stack = Stack::kCross;
  maps.image = {.rows = 2, .columns = 2, .patch = 2, .first = 1, .pixels = {std::vector<float>(16, 0.5F)}};
  return maps;
}

TEST(Stacks, RowsAreTheTargetsAndColumnsTheSources) {
  const AttentionMaps maps = cross_maps();
  const AxisTokens tokens = axis_tokens(maps, {});
  EXPECT_THAT(tokens.query, ElementsAre("x", "y"));
  EXPECT_THAT(tokens.key, ElementsAre("A", "B", "C"));
  EXPECT_EQ(csv(maps, {}), "query,A,B,C\nx,0.5,0.25,0.25\ny,0,0,1\n");
  EXPECT_THAT(layout_heatmap(maps, {}).title, HasSubstr("cross-attention layer 1"));
  EXPECT_THAT(terminal_picture(maps, {}),
              AllOf(HasSubstr("cross-attention layer 1"), HasSubstr("2 queries down")));
  const auto document = nlohmann::json::parse(json(maps, {}));
  const auto& layer = document["layers"][0];
  EXPECT_EQ(layer["stack"], "cross");
  EXPECT_EQ(layer["layer"], 1);
  EXPECT_EQ(layer["key_tokens"], (nlohmann::json{"A", "B", "C"}));
  EXPECT_FALSE(nlohmann::json::parse(json(g13_maps(), {}))["layers"][0].contains("stack"));
}

TEST(Stacks, ThePageKnowsWhoseTokensTheyAre) {
  const AttentionMaps maps = cross_maps();
  const auto document = maps_document({maps}, {}, plan_page({maps}, false));
  const auto& moment = document["moments"][0];
  EXPECT_EQ(moment["source"][0], (nlohmann::ordered_json{"A", "B", "C"}));
  EXPECT_EQ(moment["layers"][0]["name"], "C1");
  EXPECT_EQ(moment["layers"][0]["rows"], "tokens");
  EXPECT_EQ(moment["layers"][0]["columns"], "source");
  EXPECT_FALSE(moment["layers"][0]["pictured"].get<bool>());
  EXPECT_TRUE(moment["image"].is_null());
}

TEST(Patches, AreNamedByRowAndColumn) {
  EXPECT_THAT(axis_tokens(image_maps(), {}).key, ElementsAre("q", "r0c0", "r0c1", "r1c0", "r1c1"));
  AttentionMaps own = image_maps();
  own.layers[0] = {1, 1, 5, 5, std::vector<float>(25, 0.2F)};
  own.tokens = own.source.tokens;
  own.source = {};
  EXPECT_THAT(axis_tokens(own, {}).query, ElementsAre("q", "r0c0", "r0c1", "r1c0", "r1c1"));
}

TEST(Patches, TheOneLookedAtIsColouredAndTheOthersStayGrey) {
  const Picture picture = read_png(draw_image_maps(image_maps(), {}));
  std::int64_t grey = 0, coloured = 0;
  for (const Rgb& pixel : picture.pixels) {
    grey += pixel == Rgb{128, 128, 128};
    coloured += pixel == Rgb{203, 103, 52};  // 0.3 * 127.5 + 0.7 * (235, 92, 20)
  }
  // The plain image is four grey patches; under the weights three are grey and one is coloured, but for its
  // frame.
  EXPECT_GT(coloured, 0);
  EXPECT_GT(grey, 6 * coloured);
  EXPECT_LT(grey, 10 * coloured);
}

TEST(Patches, OnlyWhereKeysAreTheirs) {
  EXPECT_TRUE(test::fails([] { (void)draw_image_maps(cross_maps(), {}); }, ExitCode::kBadConfig,
                          HasSubstr("no patches")));
  AttentionMaps maps = image_maps();
  maps.image.first = 2;
  EXPECT_TRUE(
      test::fails([&] { (void)draw_image_maps(maps, {}); }, ExitCode::kInternal, HasSubstr("5 keys")));
  maps = image_maps();
  maps.image.pixels[0].pop_back();
  EXPECT_TRUE(
      test::fails([&] { (void)draw_image_maps(maps, {}); }, ExitCode::kInternal, HasSubstr("15 pixels")));
  maps = image_maps();
  maps.layers[0].stack = Stack::kDecoder;
  EXPECT_TRUE(
      test::fails([&] { (void)draw_image_maps(maps, {}); }, ExitCode::kBadConfig, HasSubstr("decoder")));
}

}  // namespace
}  // namespace headtorch::report
