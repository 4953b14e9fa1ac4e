#include "src/report/heatmap.hpp"

#include <glib.h>
#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <random>
#include <thread>

#include "src/core/error.hpp"
#include "tests/report/samples.hpp"

namespace headtorch::report {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;
using testing::ThrowsMessage;

constexpr Rgb kWhite{255, 255, 255};

/// Rows of random weights that sum to one.
AttentionMaps random_maps(std::int64_t heads, std::int64_t queries, std::int64_t keys, unsigned seed = 7) {
  std::mt19937 generator(seed);
  std::vector<float> values;
  for (std::int64_t row = 0; row < heads * queries; ++row) {
    std::vector<double> weights;
    double sum = 0;
    for (std::int64_t j = 0; j < keys; ++j) {
      weights.push_back(static_cast<double>(generator() % 1000 + 1));
      sum += weights.back();
    }
    for (const double w : weights) {
      values.push_back(static_cast<float>(w / sum));
    }
  }
  return maps_of(heads, queries, keys, std::move(values));
}

/// Every pixel of every cell has the colour of its weight, and the cells fill the panel exactly.
void expect_cells(const Picture& picture, const HeatmapLayout& layout, const AttentionMaps& maps,
                  ColorRange range) {
  for (const Panel& panel : layout.panels) {
    const LayerWeights& layer = select(maps, panel.selection);
    const auto weights = layer.head(panel.selection.sample, panel.selection.head);
    const auto side = static_cast<std::int64_t>(layout.cell) * kDensity;
    ASSERT_EQ(panel.data.width * kDensity, static_cast<double>(side * layer.keys));
    ASSERT_EQ(panel.data.height * kDensity, static_cast<double>(side * layer.queries));
    ASSERT_EQ(panel.data.x, std::floor(panel.data.x));
    ASSERT_EQ(panel.data.y, std::floor(panel.data.y));
    for (std::int64_t y = 0; y < side * layer.queries; ++y) {
      for (std::int64_t x = 0; x < side * layer.keys; ++x) {
        const double weight = weights[static_cast<std::size_t>(y / side * layer.keys + x / side)];
        ASSERT_EQ(picture.at(panel.data.x * kDensity + static_cast<double>(x),
                             panel.data.y * kDensity + static_cast<double>(y)),
                  viridis(bar_place(weight, range, panel.summary.largest)))
            << "head " << panel.selection.head << " x " << x << " y " << y;
      }
    }
  }
}

TEST(Heatmap, G13_one_grey_pixel_a_cell_with_keys_across) {
  const AttentionMaps maps = g13_maps();
  const Picture picture = read_png(grey_png(maps.layers[0].head(0, 0), 3, 3));
  ASSERT_EQ(picture.width, 3);
  ASSERT_EQ(picture.height, 3);
  const int expected[3][3] = {{255, 0, 0}, {64, 191, 0}, {51, 77, 128}};
  for (int y = 0; y < 3; ++y) {
    for (int x = 0; x < 3; ++x) {
      EXPECT_EQ(picture.at(x, y).r, expected[y][x]) << x << " " << y;
      EXPECT_EQ(picture.at(x, y).r, picture.at(x, y).b);
    }
  }
}

TEST(Heatmap, G13_rows_are_queries_and_columns_are_keys) {
  const AttentionMaps maps = g13_maps();
  for (const std::optional<std::int64_t> head :
       {std::optional<std::int64_t>(), std::optional<std::int64_t>(0)}) {
    const HeatmapRequest request{.head = head};
    expect_cells(read_png(draw_heatmap(maps, request)), layout_heatmap(maps, request), maps,
                 ColorRange::kUnit);
  }
}

TEST(Heatmap, cells_are_exact_for_every_shape_and_range) {
  for (const auto& [heads, queries, keys] : std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>>{
           {1, 1, 1}, {2, 3, 7}, {3, 16, 5}, {4, 16, 16}, {8, 20, 20}, {16, 4, 4}, {1, 64, 64}}) {
    const AttentionMaps maps = random_maps(heads, queries, keys);
    for (const ColorRange range : {ColorRange::kUnit, ColorRange::kHead, ColorRange::kLog}) {
      const HeatmapRequest request{.color_range = range};
      const HeatmapLayout layout = layout_heatmap(maps, request);
      ASSERT_THAT(layout.panels, SizeIs(static_cast<std::size_t>(heads)));
      expect_cells(read_png(draw_heatmap(maps, request)), layout, maps, range);
    }
  }
}

TEST(Heatmap, G17_500_tokens_and_one) {
  for (const std::int64_t length : {500, 1}) {
    const AttentionMaps maps = random_maps(2, length, length);
    const HeatmapLayout layout = layout_heatmap(maps, {});
    EXPECT_EQ(static_cast<std::int64_t>(layout.panels[0].data.width * kDensity) % length, 0);
    EXPECT_THAT(layout.subtitle, HasSubstr(length == 1 ? "1 query × 1 key" : "500 queries × 500 keys"));
    expect_cells(read_png(draw_heatmap(maps, {})), layout, maps, ColorRange::kUnit);
    EXPECT_THAT(draw_heatmap(maps, {.format = Format::kSvg}), HasSubstr("</svg>"));
  }
}

TEST(Heatmap, G09_heads_are_drawn_apart) {
  const AttentionMaps maps = shifted_maps(4, 4);
  const HeatmapLayout layout = layout_heatmap(maps, {});
  ASSERT_THAT(layout.panels, SizeIs(4));
  for (const Panel& panel : layout.panels) {
    EXPECT_THAT(panel.lines, ElementsAre(fmt::format("head {}", panel.selection.head), "entropy 0.00 nats"));
  }
  expect_cells(read_png(draw_heatmap(maps, {})), layout, maps, ColorRange::kUnit);
}

TEST(Heatmap, nothing_lies_on_top_of_something_else) {
  for (const std::int64_t heads : {1, 2, 3, 5, 8, 16}) {
    for (const std::int64_t length : {1, 2, 16, 64, 200}) {
      const HeatmapLayout layout = layout_heatmap(random_maps(heads, length, length), {});
      std::vector<Box> boxes;
      for (const Panel& panel : layout.panels) {
        // With its labels, but not the lines above.
        boxes.push_back({panel.data.x - layout.query_ticks.depth, panel.data.y,
                         panel.data.width + layout.query_ticks.depth,
                         panel.data.height + layout.key_ticks.depth});
      }
      boxes.push_back(layout.bar);
      for (std::size_t i = 0; i < boxes.size(); ++i) {
        EXPECT_GE(boxes[i].x, 0);
        EXPECT_GE(boxes[i].y, 40);
        EXPECT_LE(boxes[i].right(), layout.size.width);
        EXPECT_LE(boxes[i].bottom(), layout.size.height);
        for (std::size_t j = 0; j < i; ++j) {
          EXPECT_TRUE(boxes[i].x >= boxes[j].right() || boxes[j].x >= boxes[i].right() ||
                      boxes[i].y >= boxes[j].bottom() || boxes[j].y >= boxes[i].bottom())
              << heads << " heads, length " << length << ": " << i << " and " << j;
        }
      }
    }
  }
}

TEST(Heatmap, a_long_title_widens_the_page) {
  AttentionMaps maps = shifted_maps(1, 1);
  maps.task = std::string(200, 'W') + "\n中";
  const Picture picture = read_png(draw_heatmap(maps, {}));
  for (int y = 0; y < picture.height; ++y) {
    for (int x = 1; x <= 10; ++x) {
      ASSERT_EQ(picture.at(picture.width - x, y), kWhite);
    }
  }
  EXPECT_THAT(layout_heatmap(maps, {}).title, Not(HasSubstr("\n")));
}

TEST(Heatmap, title_says_what_it_is) {
  AttentionMaps maps = shifted_maps(3, 5);
  maps.layers.push_back(maps.layers[0]);
  maps.layers[1].layer = 1;
  const HeatmapLayout layout = layout_heatmap(maps, {.layer = 1, .head = 2});
  EXPECT_THAT(layout.title, AllOf(HasSubstr("copy"), HasSubstr("layer 1"), HasSubstr("head 2")));
  EXPECT_THAT(layout.subtitle, AllOf(HasSubstr("step 600"), HasSubstr("sample 0"), HasSubstr("5 queries")));
  EXPECT_THAT(layout.panels.front().lines, Contains("entropy 0.00 nats"));
}

TEST(Heatmap, rows_that_see_nothing_are_grey_and_counted) {
  AttentionMaps maps = maps_of(1, 3, 3, {0, 0, 0, 0.5F, 0.5F, 0, 0, 0, 0});
  const HeatmapLayout layout = layout_heatmap(maps, {});
  EXPECT_THAT(layout.panels[0].lines, Contains("2 rows see nothing (grey): 0, 2"));
  const Picture picture = read_png(draw_heatmap(maps, {}));
  const Box& data = layout.panels[0].data;
  int grey = 0;
  for (int x = 0; x < 3 * layout.cell * kDensity; ++x) {
    const Rgb colour = picture.at(data.x * kDensity + x, data.y * kDensity + 3);
    EXPECT_TRUE(colour.r == colour.g && colour.g == colour.b && !(colour == viridis(0)));
    grey += colour == kSeesNothing;
  }
  EXPECT_GT(grey, 0);
  EXPECT_EQ(picture.at((data.x + 2.5 * layout.cell) * kDensity, (data.y + 1.5 * layout.cell) * kDensity),
            viridis(0));
}

TEST(Heatmap, cells_that_are_no_numbers_have_their_own_colour) {
  const float infinity = std::numeric_limits<float>::infinity();
  const AttentionMaps maps = maps_of(1, 2, 2, {std::nanf(""), 1, infinity, 2});
  const HeatmapLayout layout = layout_heatmap(maps, {});
  EXPECT_THAT(layout.panels[0].lines,
              AllOf(Contains("2 cells are not numbers (red)"), Contains("1 cell is outside 0 to 1")));
  const Picture picture = read_png(draw_heatmap(maps, {}));
  const auto centre = [&](int row, int column) {
    return picture.at((layout.panels[0].data.x + (column + 0.5) * layout.cell) * kDensity,
                      (layout.panels[0].data.y + (row + 0.5) * layout.cell) * kDensity);
  };
  EXPECT_EQ(centre(0, 0), kNotANumber);
  EXPECT_EQ(centre(1, 0), kNotANumber);
  EXPECT_EQ(centre(0, 1), viridis(1));
}

TEST(Heatmap, colour_bar_runs_from_one_at_the_top_to_zero) {
  const AttentionMaps maps = shifted_maps(2, 8);
  const HeatmapLayout layout = layout_heatmap(maps, {});
  const Picture picture = read_png(draw_heatmap(maps, {}));
  const double x = (layout.bar.x + layout.bar.width / 2) * kDensity;
  EXPECT_EQ(picture.at(x, layout.bar.y * kDensity + 1), viridis(1));
  EXPECT_EQ(picture.at(x, layout.bar.bottom() * kDensity - 2), viridis(0));
  EXPECT_EQ(layout.bar_labels.back(), (std::pair<double, std::string>(1, "1")));
  const auto head_bar =
      layout_heatmap(maps_of(1, 1, 2, {0.5F, 0.5F}), {.head = 0, .color_range = ColorRange::kHead});
  EXPECT_EQ(head_bar.bar_labels.back(), (std::pair<double, std::string>(1, "0.500")));
}

TEST(Heatmap, the_same_maps_give_the_same_bytes) {
  const AttentionMaps maps = random_maps(2, 16, 16);
  for (const Format format : {Format::kPng, Format::kSvg}) {
    const std::string first = draw_heatmap(maps, {.format = format});
    std::string second;
    std::thread([&] { second = draw_heatmap(maps, {.format = format}); }).join();
    EXPECT_EQ(first, second);
    EXPECT_NE(first, draw_heatmap(random_maps(2, 16, 16, 8), {.format = format}));
  }
}

TEST(Heatmap, threads_may_draw_at_once) {
  const AttentionMaps maps = random_maps(2, 12, 12);
  const std::string expected = draw_heatmap(maps, {.format = Format::kSvg});
  std::vector<std::string> drawn(4);
  std::vector<std::thread> threads;
  for (std::string& bytes : drawn) {
    threads.emplace_back([&] { bytes = draw_heatmap(maps, {.format = Format::kSvg}); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_THAT(drawn, testing::Each(expected));
}

bool is_xml(const std::string& text) {
  const GMarkupParser parser{};
  GMarkupParseContext* context =
      g_markup_parse_context_new(&parser, G_MARKUP_DEFAULT_FLAGS, nullptr, nullptr);
  const bool good =
      g_markup_parse_context_parse(context, text.data(), static_cast<gssize>(text.size()), nullptr) &&
      g_markup_parse_context_end_parse(context, nullptr);
  g_markup_parse_context_free(context);
  return good;
}

TEST(Heatmap, G15_tokens_cannot_break_the_svg) {
  const auto tokens = hostile_tokens();
  const auto n = static_cast<std::int64_t>(tokens.size());
  AttentionMaps maps = maps_of(1, n, n, std::vector<float>(tokens.size() * tokens.size(), 0.1F), tokens);
  maps.task = "<b>&amp;</svg>";
  const std::string svg = draw_heatmap(maps, {.format = Format::kSvg});
  EXPECT_TRUE(is_xml(svg));
  EXPECT_THAT(svg, Not(HasSubstr("onerror")));
  EXPECT_EQ(svg.find("</svg>"), svg.rfind("</svg>"));
}

TEST(Heatmap, svg_has_rectangles_for_few_cells_and_an_unsmoothed_picture_for_many) {
  const std::string small = draw_heatmap(random_maps(1, 8, 8), {.format = Format::kSvg});
  EXPECT_THAT(small, Not(HasSubstr("<image")));
  const std::string large = draw_heatmap(random_maps(1, 200, 200), {.format = Format::kSvg});
  EXPECT_TRUE(is_xml(large));
  const std::size_t image = large.find("<image");
  ASSERT_NE(image, std::string::npos);
  EXPECT_THAT(large.substr(image, 300), HasSubstr("image-rendering:pixelated"));

  // The picture inside holds a pixel a cell, in the same orientation.
  const std::string start = "base64,";
  const std::size_t from = large.find(start, image) + start.size();
  const std::string base64 = large.substr(from, large.find('"', from) - from);
  gsize size = 0;
  guchar* bytes = g_base64_decode(base64.c_str(), &size);
  const Picture picture = read_png(std::string(reinterpret_cast<const char*>(bytes), size));
  g_free(bytes);
  const AttentionMaps maps = random_maps(1, 200, 200);
  ASSERT_EQ(picture.width, 200);
  for (std::size_t i = 0; i < 40'000; ++i) {
    ASSERT_EQ(picture.pixels[i], viridis(maps.layers[0].values[i])) << i;
  }
}

TEST(Heatmap, letters_without_a_font_are_spelled_out) {
  // U+10FFFD is for private use, no font has it.
  EXPECT_EQ(measure("a\U0010fffd", {}).width, measure("aU+10FFFD", {}).width);
}

TEST(Heatmap, what_cannot_be_drawn_is_refused) {
  EXPECT_THROW(draw_heatmap(g13_maps(), {.layer = 3}), ConfigError);
  EXPECT_THROW(draw_heatmap(g13_maps(), {.head = 1}), ConfigError);
  EXPECT_THROW(draw_heatmap(maps_of(1, 2, 2, {1}), {}), ShapeError);
  EXPECT_THAT(
      [] {
        Canvas(Format::kPng, {20'000, 10}, kDensity);
      },
      ThrowsMessage<ConfigError>(StartsWith("[picture] 40000 x 20 pixels, expected at most 32767")));
}

void draw_without_fonts() {
  const std::string config = testing::TempDir() + "headtorch_no_fonts.conf";
  std::ofstream(config) << "<?xml version=\"1.0\"?><fontconfig></fontconfig>";
  setenv("FONTCONFIG_FILE", config.c_str(), 1);
  try {
    draw_heatmap(g13_maps(), {});
  } catch (const Error& error) {
    std::remove(config.c_str());
    std::fputs(error.what(), stderr);
    std::_Exit(static_cast<int>(error.code()));
  }
  std::_Exit(0);
}

TEST(HeatmapDeathTest, a_machine_without_fonts_gets_one_clear_line) {
  // A new process: fontconfig reads its configuration once.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(draw_without_fonts(), testing::ExitedWithCode(69), "no font is installed, expected one");
}

}  // namespace
}  // namespace headtorch::report
