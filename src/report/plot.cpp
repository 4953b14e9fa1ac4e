#include "src/report/plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "src/report/heatmap_style.hpp"

namespace headtorch::report {
namespace {

constexpr Rgb kGrid{0xe6, 0xe6, 0xe6};
constexpr TextStyle kMarkStyle = kBarStyle;
constexpr double kDot = 2.6;  // radius
constexpr double kTitleLine = 15, kTitleUp = 11, kYTitle = 18;
constexpr double kGuideLine = 13, kGuideGap = 8, kTopAxisHeight = 34;

bool is_shown(double value, AxisScale scale) {
  return std::isfinite(value) && (scale == AxisScale::kLinear || value > 1e-300);
}

/// Values of a plot along one axis, of curves and bands.
struct Values {
  std::vector<double> x, y;
};

Values shown_values(const Plot& plot) {
  Values values;
  const auto add = [&](const std::vector<double>& x, const std::vector<double>& y) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!is_shown(x[i], plot.x_scale) || !is_shown(y[i], plot.y_scale)) continue;
      values.x.push_back(x[i]);
      values.y.push_back(y[i]);
    }
  };
  for (const Series& series : plot.series) add(series.x, series.y);
  for (const Band& band : plot.bands) {
    add(band.x, band.low);
    add(band.x, band.high);
  }
  return values;
}

bool is_usable(const AxisRange& range, AxisScale scale) {
  const double span = range.high - range.low;
  return std::isfinite(span) && is_shown(range.low, scale) &&
         span > 1e-12 * std::max(std::abs(range.low), std::abs(range.high));
}

AxisRange axis_range(const std::optional<AxisRange>& wanted, const std::vector<double>& values,
                     AxisScale scale) {
  if (wanted && is_usable(*wanted, scale)) return *wanted;
  return range_around(wanted ? std::vector{wanted->low, wanted->high} : values, scale);
}

PlotFrame frame_of(const Plot& plot, const Box& data) {
  const Values values = shown_values(plot);
  return {.data = data,
          .x = axis_range(plot.x_range, values.x, plot.x_scale),
          .y = axis_range(plot.y_range, values.y, plot.y_scale),
          .x_scale = plot.x_scale,
          .y_scale = plot.y_scale};
}

int most_marks(double length, double each) { return static_cast<int>(length / each) + 1; }

std::vector<AxisMark> y_marks(const PlotFrame& frame) {
  constexpr double kHeightAMark = 34;
  return marks_of(frame.y, frame.y_scale, most_marks(frame.data.height, kHeightAMark));
}

/// The more the shorter they are.
std::vector<AxisMark> x_marks(const AxisRange& range, AxisScale scale, double width) {
  constexpr double kPointsAMark = 64, kBetween = 22;
  int most = most_marks(width, kPointsAMark);
  if (scale == AxisScale::kLogarithmic) most = most_marks(width, 45);
  for (;; --most) {
    std::vector<AxisMark> marks = marks_of(range, scale, most);
    double widest = 0;
    for (const AxisMark& mark : marks) widest = std::max(widest, measure(mark.text, kMarkStyle).width);
    if (most <= 2 || static_cast<double>(marks.size()) * (widest + kBetween) <= width + widest) return marks;
  }
}

double widest_of(const std::vector<AxisMark>& marks) {
  double widest = 0;
  for (const AxisMark& mark : marks) widest = std::max(widest, measure(mark.text, kMarkStyle).width);
  return widest;
}

double room_left(const PlotFrame& frame) {
  return std::max(kPlotLeft, std::ceil(widest_of(y_marks(frame))) + kTickGap + kYTitle);
}

/// A guide's text, on one of the lines above the axes.
struct GuideText {
  std::size_t line = 0;
  double x = 0;  ///< of its middle
  std::string text;
};

/// Each text stands above its guide, shifted where it would leave the axes, on the lowest line with room.
std::vector<GuideText> guide_texts(const Plot& plot, const PlotFrame& frame) {
  std::vector<Guide> guides = plot.guides;
  std::stable_sort(guides.begin(), guides.end(), [](const Guide& a, const Guide& b) { return a.x < b.x; });
  std::vector<GuideText> texts;
  std::vector<double> ends;  // by line
  for (const Guide& guide : guides) {
    if (!is_shown(guide.x, plot.x_scale) || guide.x < frame.x.low || guide.x > frame.x.high) continue;
    if (guide.text.empty()) continue;
    const std::string text = cut(guide.text, frame.data.width, kPanelStyle);
    const double half = measure(text, kPanelStyle).width / 2;
    const double x = std::max(frame.data.x + half, std::min(frame.at_x(guide.x), frame.data.right() - half));
    std::size_t line = 0;
    while (line < ends.size() && ends[line] + kGuideGap > x - half) ++line;
    if (line == ends.size()) ends.push_back(0);
    ends[line] = x + half;
    texts.push_back({line, x, text});
  }
  return texts;
}

/// Points above the data box, from the box up: guides' texts, the top axis.
struct Above {
  std::vector<GuideText> guides;
  double guides_height = 0, title_base = 0;
};

Above above_of(const Plot& plot, const PlotFrame& frame) {
  Above above{.guides = guide_texts(plot, frame)};
  std::size_t lines = 0;
  for (const GuideText& text : above.guides) lines = std::max(lines, text.line + 1);
  above.guides_height = kGuideLine * static_cast<double>(lines);
  above.title_base = above.guides_height + (plot.top_axis ? kTopAxisHeight : 0);
  return above;
}

std::vector<std::string> title_lines(const Plot& plot, double width) {
  return plot.title.empty() ? std::vector<std::string>() : wrapped(plot.title, width, kHeadStyle);
}

void draw_y_marks(Canvas& canvas, const PlotFrame& frame) {
  const Box& data = frame.data;
  for (const AxisMark& mark : y_marks(frame)) {
    const double y = frame.at_y(mark.value);
    canvas.line(data.x, y, data.right(), y, kGrid, 0.8);
    canvas.text(mark.text, data.x - kTickGap, y, kMarkStyle, Anchor::kEnd);
  }
}

void draw_x_marks(Canvas& canvas, const PlotFrame& frame, const Plot& plot) {
  const Box& data = frame.data;
  const bool is_named = !plot.x_marks.empty();
  const std::vector<AxisMark> marks = is_named ? plot.x_marks : x_marks(frame.x, frame.x_scale, data.width);
  const double each = data.width / static_cast<double>(std::max<std::size_t>(marks.size(), 1));
  for (const AxisMark& mark : marks) {
    if (mark.value < frame.x.low || mark.value > frame.x.high) continue;
    const double x = frame.at_x(mark.value);
    canvas.line(x, data.y, x, data.bottom(), kGrid, 0.8);
    if (plot.shows_x_marks)
      canvas.text(is_named ? cut(mark.text, each - 6, kMarkStyle) : mark.text, x,
                  data.bottom() + kTickGap + 6, kMarkStyle, Anchor::kMiddle);
  }
}

void draw_top_axis(Canvas& canvas, const PlotFrame& frame, const TopAxis& axis, double above) {
  const Box& data = frame.data;
  const AxisRange range{std::pow(frame.x.low, axis.power), std::pow(frame.x.high, axis.power)};
  for (const AxisMark& mark : x_marks(range, frame.x_scale, data.width)) {
    const double x = frame.at_x(std::pow(mark.value, 1 / axis.power));
    canvas.line(x, data.y - 4, x, data.y, kFrame, 0.8);
    canvas.text(mark.text, x, data.y - above - kTickGap - 6, kMarkStyle, Anchor::kMiddle);
  }
  canvas.text(cut(axis.title, data.width, kAxisStyle), data.x + data.width / 2, data.y - above - 27,
              kAxisStyle, Anchor::kMiddle);
}

bool is_point(const Series& series, std::size_t i, const PlotFrame& frame) {
  return is_shown(series.x[i], frame.x_scale) && is_shown(series.y[i], frame.y_scale);
}

void draw_series(Canvas& canvas, const PlotFrame& frame, const Series& series) {
  std::vector<Point> run;
  const auto end_run = [&] {
    if (series.width > 0 && run.size() > 1) canvas.path(run, series.colour, series.width, series.dash);
    if (series.has_points || series.width == 0 || run.size() == 1) {
      for (const Point& point : run) canvas.disc(point, kDot, series.colour);
    }
    run.clear();
  };
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    if (is_point(series, i, frame)) {
      run.push_back({frame.at_x(series.x[i]), frame.at_y(series.y[i])});
    } else {
      end_run();
    }
  }
  end_run();
}

void draw_band(Canvas& canvas, const PlotFrame& frame, const Band& band) {
  std::vector<Point> upper, lower;
  const auto end_run = [&] {
    upper.insert(upper.end(), lower.rbegin(), lower.rend());
    if (upper.size() > 2) canvas.area(upper, band.colour);
    upper.clear();
    lower.clear();
  };
  for (std::size_t i = 0; i < band.x.size(); ++i) {
    if (!is_shown(band.x[i], frame.x_scale) || !is_shown(band.low[i], frame.y_scale) ||
        !is_shown(band.high[i], frame.y_scale)) {
      end_run();
      continue;
    }
    const double x = frame.at_x(band.x[i]);
    upper.push_back({x, frame.at_y(band.high[i])});
    lower.push_back({x, frame.at_y(band.low[i])});
  }
  end_run();
}

void draw_guides(Canvas& canvas, const PlotFrame& frame, const Plot& plot, const Above& above) {
  const Box& data = frame.data;
  for (const Guide& guide : plot.guides) {
    if (!is_shown(guide.x, plot.x_scale) || guide.x < frame.x.low || guide.x > frame.x.high) continue;
    const std::array<Point, 2> points = {
        {{frame.at_x(guide.x), data.y}, {frame.at_x(guide.x), data.bottom()}}};
    canvas.path(points, guide.colour, 1.2, guide.dash);
  }
  for (const GuideText& text : above.guides)
    canvas.text(text.text, text.x, data.y - kGuideLine * (static_cast<double>(text.line) + 0.5), kPanelStyle,
                Anchor::kMiddle);
}

}  // namespace

Rgb series_colour(std::size_t index) {
  static constexpr std::array<Rgb, kSeriesColours> kColours = {{{0x00, 0x72, 0xb2},
                                                                {0xd5, 0x5e, 0x00},
                                                                {0x00, 0x9e, 0x73},
                                                                {0xcc, 0x79, 0xa7},
                                                                {0xe6, 0x9f, 0x00},
                                                                {0x56, 0xb4, 0xe9},
                                                                {0x00, 0x00, 0x00}}};
  return kColours[index % kColours.size()];
}

Rgb pale(Rgb colour) {
  const auto mixed = [](std::uint8_t channel) {
    return static_cast<std::uint8_t>(255 - (255 - channel) / 4);
  };
  return {mixed(colour.r), mixed(colour.g), mixed(colour.b)};
}

Room room_around(const Plot& plot, const Extent& data) {
  const PlotFrame frame = frame_of(plot, {0, 0, data.width, data.height});
  const auto lines = static_cast<double>(title_lines(plot, data.width).size());
  return {.left = room_left(frame),
          .above = above_of(plot, frame).title_base + (lines > 0 ? kPlotAbove + (lines - 1) * kTitleLine : 6),
          .right = std::ceil(widest_of(x_marks(frame.x, frame.x_scale, data.width)) / 2),
          .below = plot.shows_x_marks ? kPlotBelow : 6};
}

PlotFrame draw_plot(Canvas& canvas, const Box& data, const Plot& plot) {
  const PlotFrame frame = frame_of(plot, data);
  const Above above = above_of(plot, frame);
  const bool is_cut = plot.x_range || plot.y_range;
  if (is_cut) canvas.begin_clip(data);
  for (const Band& band : plot.bands) draw_band(canvas, frame, band);
  if (is_cut) canvas.end_clip();
  draw_y_marks(canvas, frame);
  draw_x_marks(canvas, frame, plot);
  canvas.frame(data, kFrame, 0.8);
  if (plot.top_axis) draw_top_axis(canvas, frame, *plot.top_axis, above.guides_height);
  draw_guides(canvas, frame, plot, above);
  if (is_cut) canvas.begin_clip({data.x - 1, data.y - 1, data.width + 2, data.height + 2});
  for (const Series& series : plot.series) draw_series(canvas, frame, series);
  if (is_cut) canvas.end_clip();
  if (shown_values(plot).x.empty())
    canvas.text("no numbers", data.x + data.width / 2, data.y + data.height / 2, kSubtitleStyle,
                Anchor::kMiddle);
  const std::vector<std::string> title = title_lines(plot, data.width);
  for (std::size_t i = 0; i < title.size(); ++i) {
    const auto lines_below = static_cast<double>(title.size() - 1 - i);
    canvas.text(title[i], data.x, data.y - above.title_base - kTitleUp - kTitleLine * lines_below,
                kHeadStyle);
  }
  canvas.text(cut(plot.y_title, data.height + kPlotBelow, kAxisStyle), data.x - room_left(frame) + 9,
              data.y + data.height / 2, kAxisStyle, Anchor::kMiddle, Writing::kUp);
  if (plot.shows_x_marks)
    canvas.text(cut(plot.x_title, data.width + 20, kAxisStyle), data.x + data.width / 2, data.bottom() + 33,
                kAxisStyle, Anchor::kMiddle);
  return frame;
}

}  // namespace headtorch::report
