#include "src/report/plot.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "src/report/legend.hpp"
#include "tests/report/samples.hpp"

namespace headtorch::report {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::Le;
using testing::SizeIs;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr Rgb kWhite{255, 255, 255};

std::vector<std::string> texts(const std::vector<AxisMark>& marks) {
  std::vector<std::string> result;
  for (const AxisMark& mark : marks) result.push_back(mark.text);
  return result;
}

/// A plot alone on a page, with the pixels of its data box.
struct Drawn {
  PlotFrame frame;
  Picture picture;
  int count(Rgb colour, double x0, double x1) const {
    int n = 0;
    for (auto y = static_cast<int>(frame.data.y) + 1; y < static_cast<int>(frame.data.bottom()); ++y) {
      for (auto x = static_cast<int>(frame.at_x(x0)); x < static_cast<int>(frame.at_x(x1)); ++x)
        n += picture.at(x, y) == colour;
    }
    return n;
  }
};

Drawn drawn(const Plot& plot) {
  Canvas canvas(Format::kPng, {500, 300}, 1);
  const PlotFrame frame = draw_plot(canvas, {80, 40, 400, 200}, plot);
  return {frame, read_png(canvas.finish())};
}

TEST(Plot, marks_are_round_numbers_inside_the_range) {
  EXPECT_THAT(texts(round_marks({0, 1}, 6)), ElementsAre("0.0", "0.2", "0.4", "0.6", "0.8", "1.0"));
  EXPECT_THAT(texts(round_marks({-0.04, 1.04}, 4)), ElementsAre("0.0", "0.5", "1.0"));
  EXPECT_THAT(texts(round_marks({0, 700}, 5)), ElementsAre("0", "200", "400", "600"));
  EXPECT_THAT(texts(round_marks({0.3, 0.7}, 3)), ElementsAre("0.4", "0.6"));
  EXPECT_THAT(texts(round_marks({-3, 3}, 4)), ElementsAre("-2", "0", "2"));
}

TEST(Plot, marks_are_few_and_all_different) {
  for (const double span : {1e-9, 0.003, 0.7, 1.0, 3.3, 96.0, 12345.0, 4e7}) {
    for (const double low : {0.0, -span / 3, 5 * span}) {
      for (const int most : {2, 3, 6, 12}) {
        const std::vector<AxisMark> marks = round_marks({low, low + span}, most);
        EXPECT_THAT(marks, SizeIs(Le(static_cast<std::size_t>(most)))) << low << " " << span;
        EXPECT_THAT(marks, Each(Field(&AxisMark::value, Le(low + span * (1 + 1e-6)))));
        const auto all = texts(marks);
        EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), all.size()) << low << " " << span;
      }
    }
  }
}

TEST(Plot, marks_of_a_logarithmic_axis_are_1_2_5_or_powers_of_ten) {
  EXPECT_THAT(texts(logarithmic_marks({0.09, 2.1}, 6)), ElementsAre("0.1", "0.2", "0.5", "1", "2"));
  EXPECT_THAT(texts(logarithmic_marks({1e-6, 100}, 9)),
              ElementsAre("1e-6", "1e-5", "0.0001", "0.001", "0.01", "0.1", "1", "10", "100"));
  EXPECT_THAT(texts(logarithmic_marks({1e-6, 100}, 5)), ElementsAre("1e-6", "0.0001", "0.01", "1", "100"));
  EXPECT_THAT(texts(logarithmic_marks({2.1, 2.9}, 5)), ElementsAre("2.2", "2.4", "2.6", "2.8"));
}

TEST(Plot, a_logarithmic_axis_leaves_out_what_it_cannot_show) {
  const Rgb colour{0, 0, 200};
  const Drawn one =
      drawn({.series = {{.x = {-1, 0, 1, 10, 100}, .y = {1, 1, 1, 1, 1}, .colour = colour, .width = 0}},
             .x_scale = AxisScale::kLogarithmic});
  EXPECT_NEAR(one.frame.at_x(10), (one.frame.at_x(1) + one.frame.at_x(100)) / 2, 1e-9);
  EXPECT_EQ(one.picture.at(one.frame.at_x(10), one.frame.at_y(1)), colour);
  EXPECT_GT(one.frame.x.low, 0);
}

TEST(Plot, what_is_outside_a_given_range_is_cut) {
  const Rgb colour{0, 0, 200};
  const Drawn one = drawn(
      {.series = {{.x = {0, 1}, .y = {0, 100}, .colour = colour, .width = 3}}, .y_range = AxisRange{0, 10}});
  for (int y = 0; y < static_cast<int>(one.frame.data.y) - 2; ++y) {
    for (int x = 0; x < 500; ++x) ASSERT_NE(one.picture.at(x, y), colour);
  }
}

TEST(Plot, a_band_lies_between_its_ends) {
  const Rgb colour{200, 220, 255};
  const Drawn one =
      drawn({.y_range = AxisRange{0, 4},
             .bands = {{.x = {0, 1, 2}, .low = {1, 1, 1}, .high = {3, 3, 3}, .colour = colour}}});
  EXPECT_EQ(one.picture.at(one.frame.at_x(0.7), one.frame.at_y(2.9)), colour);
  EXPECT_EQ(one.picture.at(one.frame.at_x(0.7), one.frame.at_y(1.1)), colour);
  EXPECT_EQ(one.picture.at(one.frame.at_x(0.7), one.frame.at_y(3.5)), kWhite);
}

TEST(Plot, texts_of_close_guides_take_lines_of_their_own) {
  Plot plot{.series = {{.x = {0, 10}, .y = {0, 1}}}};
  plot.guides = {{.x = 5, .text = "chosen 5"}};
  const double one = room_around(plot, {400, 200}).above;
  plot.guides.push_back({.x = 1, .text = "far"});
  EXPECT_EQ(room_around(plot, {400, 200}).above, one);
  plot.guides.push_back({.x = 5.1, .text = "minimum 5.1"});
  EXPECT_GT(room_around(plot, {400, 200}).above, one);
  plot.guides.push_back({.x = 99, .text = "outside"});
  plot.top_axis = TopAxis{"t", 2};
  EXPECT_GT(room_around(plot, {400, 200}).above, one + 30);
}

TEST(Plot, a_range_holds_its_values_and_is_never_empty) {
  for (const std::vector<double>& values : std::vector<std::vector<double>>{
           {}, {3}, {0, 0}, {kNone, 2, kNone}, {1e300, 1e300}, {-5, 7}, {INFINITY, 1}, {1, 1 + 1e-15}}) {
    const AxisRange range = range_around(values);
    EXPECT_LT(range.low, range.high);
    for (const double value : values) {
      if (std::isfinite(value)) {
        EXPECT_LE(range.low, value);
        EXPECT_GE(range.high, value);
      }
    }
  }
}

TEST(Plot, G16_a_line_breaks_where_a_value_is_missing) {
  const Rgb colour{0, 0, 200};
  const Drawn whole =
      drawn({.series = {{.label = "a", .x = {0, 1, 2, 3}, .y = {1, 1, 1, 1}, .colour = colour, .width = 3}}});
  const Drawn broken = drawn(
      {.series = {
           {.label = "a", .x = {0, 1, 2, 3, 4}, .y = {1, 1, kNone, 1, 1}, .colour = colour, .width = 3}}});
  EXPECT_GT(whole.count(colour, 1.2, 2.8), 0);
  EXPECT_EQ(broken.count(colour, 1.2, 2.8), 0);
  EXPECT_GT(broken.count(colour, 0.2, 0.8), 0);
  EXPECT_GT(broken.count(colour, 3.2, 3.8), 0);
}

TEST(Plot, a_lone_value_is_a_dot_at_its_place) {
  const Rgb colour{0, 0, 200};
  const Drawn one = drawn({.series = {{.label = "a", .x = {7}, .y = {3}, .colour = colour}}});
  EXPECT_EQ(one.picture.at(one.frame.at_x(7), one.frame.at_y(3)), colour);
}

TEST(Plot, nothing_to_draw_says_so) {
  const std::vector<Plot> empty = {{}, {.series = {{.label = "a", .x = {1, 2}, .y = {kNone, INFINITY}}}}};
  for (const Plot& plot : empty) {
    const Drawn none = drawn(plot);
    int dark = 0;
    for (int x = 230; x < 330; ++x) {
      for (int y = 130; y < 150; ++y) dark += none.picture.at(x, y).r < 120;
    }
    EXPECT_GT(dark, 20);
  }
}

TEST(Plot, colours_of_series_are_apart_in_brightness_or_hue) {
  std::set<int> seen;
  for (std::size_t i = 0; i < 7; ++i) {
    const Rgb colour = series_colour(i);
    EXPECT_NE(colour, kWhite);
    seen.insert(colour.r << 16 | colour.g << 8 | colour.b);
  }
  EXPECT_THAT(seen, SizeIs(7));
  EXPECT_EQ(series_colour(0), series_colour(7));
}

TEST(Plot, a_legend_names_each_label_once_in_columns_that_fit) {
  std::vector<Series> series = {{.label = ""}};
  for (int i = 0; i < 40; ++i) series.push_back({.label = fmt::format("L0H{}", i % 20)});
  const Legend legend = layout_legend(series, 100);
  EXPECT_THAT(legend.entries, SizeIs(20));
  EXPECT_LE(legend.size.height, 100);
  EXPECT_THAT(layout_legend({{.label = ""}}, 100).entries, IsEmpty());
}

TEST(Plot, long_text_is_wrapped_at_words) {
  const std::string text = "L0H1 is a mirrored Gaussian, h 0.4, explains 97 % of what it looks at";
  const std::vector<std::string> lines = wrapped(text, 120, {});
  std::string joined;
  for (const std::string& line : lines) {
    EXPECT_LE(measure(line, {}).width, 120);
    joined += (joined.empty() ? "" : " ") + line;
  }
  EXPECT_EQ(joined, text);
  EXPECT_THAT(wrapped(std::string(200, 'W'), 120, {}), SizeIs(1));
  EXPECT_LE(measure(wrapped(std::string(200, 'W'), 120, {}).front(), {}).width, 120);
}

}  // namespace
}  // namespace headtorch::report
