#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "src/report/axis.hpp"
#include "src/report/canvas.hpp"
#include "src/report/wrap.hpp"

// Curves on a canvas: axes with round numbers, bands, lines, points, marked places, a legend. What is not
// finite (on a logarithmic axis: not above 0) is left out, and a line breaks there.

namespace headtorch::report {

/// One of seven colours that every common colour blindness tells apart, by index, from the start again after
/// the last. Source: Okabe and Ito 2008, "Color Universal Design"; without their yellow, which is faint on
/// white.
Rgb series_colour(std::size_t index);
inline constexpr std::size_t kSeriesColours = 7;

/// The colour mixed with white: of a band behind its curve.
Rgb pale(Rgb colour);

struct Series {
  std::string label = {};              ///< of the legend; empty: not in it
  std::vector<double> x = {}, y = {};  ///< as many of both
  Rgb colour = {0, 0, 0};
  Dash dash = Dash::kSolid;
  double width = 1.6;       ///< of the line; 0: points alone
  bool has_points = false;  ///< a dot at each value; lone values get one anyway
};

/// The area between `low` and `high`, behind all curves.
struct Band {
  std::string label = {};
  std::vector<double> x = {}, low = {}, high = {};  ///< as many of each
  Rgb colour = {0, 0, 0};                           ///< as it is drawn
};

/// A vertical line, with its text above the axes.
struct Guide {
  double x = 0;
  std::string text = {};
  Rgb colour = {0x5a, 0x5a, 0x5a};
  Dash dash = Dash::kShort;
};

/// A second scale on top of a logarithmic x axis: x^power.
struct TopAxis {
  std::string title = {};
  double power = 1;
};

struct Plot {
  std::string title = {}, x_title = {}, y_title = {};
  std::vector<Series> series = {};
  std::optional<AxisRange> x_range = {}, y_range = {};  ///< absent: around the values; what is outside is cut
  bool shows_x_marks = true;                            ///< false where another plot below has the same axis
  AxisScale x_scale = AxisScale::kLinear, y_scale = AxisScale::kLinear;
  std::vector<Band> bands = {};
  std::vector<Guide> guides = {};      ///< those outside the axis are left out
  std::vector<AxisMark> x_marks = {};  ///< in place of round numbers
  std::optional<TopAxis> top_axis = {};
};

/// Where a plot draws what.
struct PlotFrame {
  Box data;  ///< inside the axes
  AxisRange x, y;
  AxisScale x_scale = AxisScale::kLinear, y_scale = AxisScale::kLinear;
  double at_x(double value) const { return data.x + share(x, x_scale, value) * data.width; }
  double at_y(double value) const { return data.bottom() - share(y, y_scale, value) * data.height; }

 private:
  static double share(const AxisRange& range, AxisScale scale, double value) {
    return scale == AxisScale::kLinear ? (value - range.low) / (range.high - range.low)
                                       : std::log(value / range.low) / std::log(range.high / range.low);
  }
};

/// Points around `data` for text, at least; `room_around` says how much a plot takes.
inline constexpr double kPlotLeft = 68, kPlotAbove = 24, kPlotBelow = 44;

struct Room {
  double left = 0, above = 0, right = 0, below = 0;
};
Room room_around(const Plot& plot, const Extent& data);

/// Draws into `data`, its text around it.
PlotFrame draw_plot(Canvas& canvas, const Box& data, const Plot& plot);

}  // namespace headtorch::report
