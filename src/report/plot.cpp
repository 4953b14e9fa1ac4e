#include "src/report/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "src/report/heatmap_style.hpp"
#include "src/report/text.hpp"

namespace headtorch::report {
namespace {

constexpr Rgb kGrid{0xe6, 0xe6, 0xe6};
constexpr TextStyle kMarkStyle{10, Weight::kNormal, kInk};
constexpr double kDot = 2.6;  // radius
constexpr double kLegendLine = 17, kLegendSample = 24, kLegendGap = 6, kLegendBetween = 16;

double mark_step(double span, int most) {
  double power = std::pow(10.0, std::floor(std::log10(span)) - 2.0);
  for (;; power *= 10.0) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (std::floor(span / (factor * power) + 1e-6) + 1.0 <= std::max(most, 2)) return factor * power;
    }
  }
}

void draw_marks(Canvas& canvas, const PlotFrame& frame, const Plot& plot) {
  constexpr double kPointsAMark = 90, kHeightAMark = 34;
  const Box& data = frame.data;
  for (const AxisMark& mark : round_marks(frame.y, static_cast<int>(data.height / kHeightAMark) + 1)) {
    const double y = frame.at_y(mark.value);
    canvas.line(data.x, y, data.right(), y, kGrid, 0.8);
    canvas.text(mark.text, data.x - kTickGap, y, kMarkStyle, Anchor::kEnd);
  }
  for (const AxisMark& mark : round_marks(frame.x, static_cast<int>(data.width / kPointsAMark) + 1)) {
    const double x = frame.at_x(mark.value);
    canvas.line(x, data.y, x, data.bottom(), kGrid, 0.8);
    if (plot.shows_x_marks)
      canvas.text(mark.text, x, data.bottom() + kTickGap + 6, kMarkStyle, Anchor::kMiddle);
  }
  canvas.frame(data, kFrame, 0.8);
}

bool is_point(const Series& series, std::size_t i) {
  return std::isfinite(series.x[i]) && std::isfinite(series.y[i]);
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
    if (is_point(series, i)) {
      run.push_back({frame.at_x(series.x[i]), frame.at_y(series.y[i])});
    } else {
      end_run();
    }
  }
  end_run();
}

bool has_values(const Plot& plot) {
  return std::any_of(plot.series.begin(), plot.series.end(), [](const Series& series) {
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (is_point(series, i)) return true;
    }
    return false;
  });
}

AxisRange range_of(const Plot& plot, std::vector<double> Series::*axis) {
  std::vector<double> values;
  for (const Series& series : plot.series) {
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (is_point(series, i)) values.push_back((series.*axis)[i]);
    }
  }
  return range_around(values);
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

AxisRange range_around(const std::vector<double>& values) {
  constexpr double kRoom = 0.04;
  double low = INFINITY, high = -INFINITY;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (low > high) return {};
  const double room = kRoom * (high - low);
  const double scale = std::max(std::abs(low), std::abs(high));
  // Values that differ by rounding alone count as equal: marks between them could not be told apart.
  if (!(high - low > 1e-9 * scale))
    return {low - std::max(0.5, 0.1 * scale), high + std::max(0.5, 0.1 * scale)};
  return {low - room, high + room};
}

std::vector<AxisMark> round_marks(const AxisRange& range, int most) {
  const double step = mark_step(range.high - range.low, most);
  const auto decimals = static_cast<int>(std::clamp(std::ceil(-std::log10(step) - 1e-9), 0.0, 17.0));
  const bool is_large = std::max(std::abs(range.low), std::abs(range.high)) >= 1e6 || decimals > 6;
  std::vector<AxisMark> marks;
  for (double n = std::ceil(range.low / step - 1e-9); n * step <= range.high + 1e-9 * step; n += 1.0) {
    const double value = n == 0.0 ? 0.0 : n * step;
    marks.push_back({value, is_large ? readable(value, 6) : fmt::format("{:.{}f}", value, decimals)});
  }
  return marks;
}

PlotFrame draw_plot(Canvas& canvas, const Box& data, const Plot& plot) {
  const PlotFrame frame{.data = data,
                        .x = plot.x_range ? *plot.x_range : range_of(plot, &Series::x),
                        .y = plot.y_range ? *plot.y_range : range_of(plot, &Series::y)};
  draw_marks(canvas, frame, plot);
  for (const Series& series : plot.series) draw_series(canvas, frame, series);
  if (!has_values(plot))
    canvas.text("no numbers", data.x + data.width / 2, data.y + data.height / 2, kSubtitleStyle,
                Anchor::kMiddle);
  canvas.text(plot.title, data.x, data.y - 11, kHeadStyle);
  canvas.text(plot.y_title, data.x - kPlotLeft + 9, data.y + data.height / 2, kAxisStyle, Anchor::kMiddle,
              Writing::kUp);
  if (plot.shows_x_marks)
    canvas.text(plot.x_title, data.x + data.width / 2, data.bottom() + 33, kAxisStyle, Anchor::kMiddle);
  return frame;
}

Legend layout_legend(const std::vector<Series>& series, double height) {
  Legend legend;
  std::set<std::string> known;
  double widest = 0;
  for (const Series& entry : series) {
    if (entry.label.empty() || !known.insert(entry.label).second) continue;
    legend.entries.push_back(entry);
    widest = std::max(widest, measure(entry.label, kMarkStyle).width);
  }
  if (legend.entries.empty()) return legend;
  const auto fitting = static_cast<std::size_t>(std::max(1.0, std::floor(height / kLegendLine)));
  const std::size_t columns = (legend.entries.size() + fitting - 1) / fitting;
  legend.rows = (legend.entries.size() + columns - 1) / columns;
  legend.column_width = std::ceil(kLegendSample + kLegendGap + widest + kLegendBetween);
  legend.size = {legend.column_width * static_cast<double>(columns) - kLegendBetween,
                 kLegendLine * static_cast<double>(legend.rows)};
  return legend;
}

void draw_legend(Canvas& canvas, const Legend& legend, double x, double y) {
  for (std::size_t i = 0; i < legend.entries.size(); ++i) {
    const Series& entry = legend.entries[i];
    const double left = x + legend.column_width * static_cast<double>(i / legend.rows);
    const double middle = y + kLegendLine * (static_cast<double>(i % legend.rows) + 0.5);
    const std::array<Point, 2> sample = {{{left, middle}, {left + kLegendSample, middle}}};
    if (entry.width > 0) canvas.path(sample, entry.colour, entry.width, entry.dash);
    if (entry.has_points || entry.width == 0)
      canvas.disc({left + kLegendSample / 2, middle}, kDot, entry.colour);
    canvas.text(entry.label, left + kLegendSample + kLegendGap, middle, kMarkStyle);
  }
}

std::vector<std::string> wrapped(std::string_view text, double width, const TextStyle& style) {
  std::vector<std::string> lines;
  const std::string whole = visible(text);
  std::string_view rest = whole;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    std::string word(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!lines.empty() && measure(lines.back() + ' ' + word, style).width <= width) {
      lines.back() += ' ' + word;
      continue;
    }
    for (std::int64_t columns = display_width(word); columns > 1 && measure(word, style).width > width;)
      word = fit(word, --columns);
    lines.push_back(std::move(word));
  }
  return lines;
}

}  // namespace headtorch::report
