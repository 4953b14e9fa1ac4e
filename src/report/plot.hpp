#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/report/canvas.hpp"

// Curves on a canvas: axes with round numbers, lines, points, intervals, a legend. What is not finite is left
// out, and a line breaks there.

namespace headtorch::report {

/// One of seven colours that every common colour blindness tells apart, by index, from the start again after
/// the last. Source: Okabe and Ito 2008, "Color Universal Design"; without their yellow, which is faint on
/// white.
Rgb series_colour(std::size_t index);
inline constexpr std::size_t kSeriesColours = 7;

struct AxisRange {
  double low = 0, high = 1;
};
/// From the smallest to the largest finite value with a little room; half a unit around where all are equal,
/// 0 to 1 where there is none.
AxisRange range_around(const std::vector<double>& values);

struct AxisMark {
  double value = 0;
  std::string text;
};
/// Round numbers (1, 2 or 5 times a power of ten apart) within the range: the closest spacing that gives no
/// more than `most` of them, at least 2 apart.
std::vector<AxisMark> round_marks(const AxisRange& range, int most);

struct Series {
  std::string label = {};              ///< of the legend; empty: not in it
  std::vector<double> x = {}, y = {};  ///< as many of both
  Rgb colour = {0, 0, 0};
  Dash dash = Dash::kSolid;
  double width = 1.6;       ///< of the line; 0: points alone
  bool has_points = false;  ///< a dot at each value; lone values get one anyway
};

struct Plot {
  std::string title = {}, x_title = {}, y_title = {};
  std::vector<Series> series = {};
  std::optional<AxisRange> x_range = {}, y_range = {};  ///< absent: around the values
  bool shows_x_marks = true;                            ///< false where another plot below has the same axis
};

/// Where a plot draws what.
struct PlotFrame {
  Box data;  ///< inside the axes
  AxisRange x, y;
  double at_x(double value) const { return data.x + (value - x.low) / (x.high - x.low) * data.width; }
  double at_y(double value) const { return data.bottom() - (value - y.low) / (y.high - y.low) * data.height; }
};

inline constexpr double kPlotLeft = 68, kPlotAbove = 24, kPlotBelow = 44;  ///< points around `data` for text

/// Draws into `data`, its text around it.
PlotFrame draw_plot(Canvas& canvas, const Box& data, const Plot& plot);

/// The labels of a legend one below the other, `columns` beside each other.
struct Legend {
  std::vector<Series> entries;  ///< only look and label count
  double column_width = 0;
  std::size_t rows = 0;
  Extent size = {};
};
/// As many columns as it takes to stay below `height`; each label once.
Legend layout_legend(const std::vector<Series>& series, double height);
void draw_legend(Canvas& canvas, const Legend& legend, double x, double y);

/// `text` in lines of at most `width`; a word that is wider alone is cut.
std::vector<std::string> wrapped(std::string_view text, double width, const TextStyle& style);

}  // namespace headtorch::report
