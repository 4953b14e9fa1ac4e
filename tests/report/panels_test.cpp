#include "src/report/panels.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "src/core/error.hpp"
#include "src/report/heatmap.hpp"
#include "src/report/legend.hpp"
#include "tests/report/samples.hpp"

namespace headtorch::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr Rgb kWhite{255, 255, 255};
const std::string kLong =
    "a name that goes on and on and on, \u540d\u524d \U0001F600 <b> & \"quoted\", with much more to say than "
    "fits";

/// Nothing touches the page's edge: what was cut off would.
void expect_white_border(const Picture& picture) {
  for (int x = 0; x < picture.width; ++x) {
    ASSERT_EQ(picture.at(x, 0), kWhite) << x;
    ASSERT_EQ(picture.at(x, picture.height - 1), kWhite) << x;
  }
  for (int y = 0; y < picture.height; ++y) {
    ASSERT_EQ(picture.at(0, y), kWhite) << y;
    ASSERT_EQ(picture.at(picture.width - 1, y), kWhite) << y;
  }
}

bool meet(const Box& a, const Box& b) {
  return a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom();
}

Plot plot_with(double factor, const std::string& name) {
  return {.title = name,
          .x_title = name,
          .y_title = name,
          .series = {{.label = name, .x = {1, 2, 3}, .y = {-factor, 2 * factor, factor}}},
          .guides = {{.x = 1.5, .text = name}, {.x = 1.6, .text = "b"}, {.x = 9, .text = "outside"}}};
}

Matrix matrix_with(std::int64_t rows, std::int64_t columns, const std::string& name) {
  Matrix matrix{
      .title = name, .x_title = name, .y_title = name, .bar_title = name, .rows = rows, .columns = columns};
  for (std::int64_t i = 0; i < rows * columns; ++i) matrix.values.push_back(static_cast<double>(i % 7));
  for (std::int64_t i = 0; i < rows; ++i) matrix.row_names.push_back(name);
  for (std::int64_t j = 0; j < columns; ++j) matrix.column_names.push_back(name);
  return matrix;
}

TEST(Panels, parts_never_meet_and_stay_on_the_page) {
  for (const std::size_t parts : {1, 2, 3, 6, 12}) {
    for (const double factor : {1e-14, 1.2345e18}) {
      Panels page{.title = kLong + kLong + kLong, .subtitle = kLong, .text = kLong + kLong + "\n" + kLong};
      for (std::size_t i = 0; i < parts; ++i) {
        if (i % 4 == 0) page.rows.emplace_back();
        if (i % 3 == 1) {
          page.rows.back().emplace_back(matrix_with(static_cast<std::int64_t>(3 * i), 5, kLong));
        } else {
          page.rows.back().emplace_back(plot_with(factor, kLong));
        }
      }
      const PanelsLayout layout = layout_panels(page);
      std::vector<Box> slots;
      for (std::size_t r = 0; r < layout.slots.size(); ++r) {
        for (std::size_t i = 0; i < layout.slots[r].size(); ++i) {
          const Box& slot = layout.slots[r][i];
          const Box& data = layout.data[r][i];
          EXPECT_GE(data.x, slot.x);
          EXPECT_GE(data.y, slot.y);
          EXPECT_LE(data.right(), slot.right());
          EXPECT_LE(data.bottom(), slot.bottom());
          EXPECT_GT(data.width, 150);
          EXPECT_EQ(data.width, layout.data[r][0].width);
          EXPECT_EQ(data.y, layout.data[r][0].y);
          EXPECT_LE(slot.right(), layout.size.width);
          EXPECT_LE(slot.bottom(), layout.size.height);
          for (const Box& other : slots) EXPECT_FALSE(meet(slot, other)) << parts;
          slots.push_back(slot);
        }
      }
      if (factor > 1) expect_white_border(read_png(draw_panels(page, Format::kPng)));
    }
  }
}

TEST(Panels, axes_of_rows_with_equally_many_parts_stand_one_below_the_other) {
  Panels page;
  page.rows = {{plot_with(1, "a"), matrix_with(3, 3, kLong)}, {plot_with(1e9, "b"), plot_with(1, "c")}};
  const PanelsLayout layout = layout_panels(page);
  EXPECT_EQ(layout.data[0][0].x, layout.data[1][0].x);
  EXPECT_EQ(layout.data[0][1].x, layout.data[1][1].x);
  EXPECT_EQ(layout.data[0][1].width, layout.data[1][1].width);
}

TEST(Panels, equal_input_gives_equal_bytes) {
  Panels page{.title = "a", .rows = {{plot_with(1, "a"), matrix_with(80, 60, "b")}}, .text = "c"};
  std::get<Plot>(page.rows[0][0]).y_range = AxisRange{0, 1};
  for (const Format format : {Format::kPng, Format::kSvg})
    EXPECT_EQ(draw_panels(page, format), draw_panels(page, format));
  EXPECT_THAT(draw_panels({}, Format::kSvg), HasSubstr("<svg"));
}

TEST(Panels, a_legend_that_all_plots_have_stands_once) {
  Plot one = plot_with(1, "a");
  Plot other = one;
  other.series[0].colour = {200, 0, 0};
  const double shared = layout_panels({.rows = {{one, one}}}).slots[0][0].height;
  const double own = layout_panels({.rows = {{one, other}}}).slots[0][0].height;
  EXPECT_GT(own, shared);
}

TEST(Matrix, cells_have_their_colours_and_gaps_are_hatched) {
  Matrix matrix{.rows = 2, .columns = 3, .values = {0, 1, 2, 3, kNone, 5}};
  const Box data = layout_panels({.rows = {{matrix}}}).data[0][0];
  const Picture picture = read_png(draw_panels({.rows = {{matrix}}}, Format::kPng));
  const auto count = [&](int row, int column, Rgb colour) {
    int n = 0;
    for (int i = 0; i < 40; ++i) {
      for (int j = 0; j < 40; ++j)
        n += picture.at((data.x + (column + 0.5) * data.width / 3) * kDensity + i,
                        (data.y + (row + 0.5) * data.height / 2) * kDensity + j) == colour;
    }
    return n;
  };
  EXPECT_EQ(count(0, 0, viridis(0)), 1600);
  EXPECT_EQ(count(0, 1, viridis(0.2)), 1600);
  EXPECT_EQ(count(1, 2, viridis(1)), 1600);
  EXPECT_GT(count(1, 1, kSeesNothing), 400);
  EXPECT_LT(count(1, 1, kSeesNothing), 1500);
}

TEST(Matrix, the_largest_of_folded_cells_is_seen) {
  constexpr std::int64_t kColumns = 5000;
  Matrix matrix{.rows = 1, .columns = kColumns, .values = std::vector<double>(kColumns, 0.0)};
  matrix.values[3333] = 1;
  const Box data = layout_panels({.rows = {{matrix}}}).data[0][0];
  const Picture picture = read_png(draw_panels({.rows = {{matrix}}}, Format::kPng));
  int seen = 0;
  double at = 0;
  for (double x = data.x * kDensity; x < data.right() * kDensity; ++x) {
    if (picture.at(x, (data.y + data.height / 2) * kDensity) == viridis(1)) {
      ++seen;
      at = x;
    }
  }
  EXPECT_GE(seen, 1);
  EXPECT_LE(seen, 3);
  EXPECT_NEAR((at / kDensity - data.x) / data.width, 3333.0 / kColumns, 0.005);
}

TEST(Matrix, odd_values_still_make_a_picture) {
  for (const std::vector<double>& values : std::vector<std::vector<double>>{
           {kNone, kNone}, {INFINITY, 1}, {-INFINITY, INFINITY}, {3, 3}, {1e300, -1e300}, {0, 5e-324}}) {
    Matrix matrix{.rows = 1, .columns = 2, .values = values, .cell_texts = {"a", "b"}};
    expect_white_border(read_png(draw_panels({.rows = {{matrix}}}, Format::kPng)));
    matrix.range = AxisRange{1, 1};
    matrix.x_range = matrix.y_range = AxisRange{2, 2};
    expect_white_border(read_png(draw_panels({.rows = {{matrix}}}, Format::kPng)));
  }
  expect_white_border(read_png(draw_panels({.rows = {{Matrix{.title = "none"}}}}, Format::kPng)));
}

TEST(Matrix, sizes_that_do_not_agree_are_refused) {
  EXPECT_THROW(draw_panels({.rows = {{Matrix{.rows = 2, .columns = 2, .values = {1}}}}}, Format::kPng),
               ShapeError);
  EXPECT_THROW(
      draw_panels({.rows = {{Matrix{.rows = 1, .columns = 1, .values = {1}, .row_names = {"a", "b"}}}}},
                  Format::kPng),
      ShapeError);
}

}  // namespace
}  // namespace headtorch::report
