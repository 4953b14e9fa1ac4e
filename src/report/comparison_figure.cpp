#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "src/report/figures.hpp"
#include "src/report/heatmap_style.hpp"
#include "src/report/legend.hpp"
#include "src/report/text.hpp"

namespace headtorch::report {
namespace {

constexpr double kRow = 30, kWidth = 520, kNameGap = 12;
constexpr std::int64_t kLongestName = 64;
constexpr Rgb kGrid{0xe6, 0xe6, 0xe6};

struct KindStyle {
  const char* name;
  std::size_t colour;
};

KindStyle style_of(probe::RowKind kind) {
  switch (kind) {
    case probe::RowKind::kNoMixing:
      return {"no mixing", 6};
    case probe::RowKind::kGeneric:
      return {"generic kernel", 4};
    case probe::RowKind::kShaped:
      return {"shaped kernel", 1};
    case probe::RowKind::kLearned:
      return {"learned", 0};
    case probe::RowKind::kReference:
      return {"plain reference", 3};
    case probe::RowKind::kReplaced:
      return {"heads replaced", 2};
  }
  return {"", 6};
}

std::string name_of(const probe::ComparisonRow& row) { return fit(visible(row.name), kLongestName); }

/// The figure's one axis holds every value, interval and guide.
AxisRange value_range(const std::vector<probe::ComparisonRow>& rows, const probe::ComparisonMetric& metric) {
  std::vector<double> values;
  if (metric.best_possible) values.push_back(*metric.best_possible);
  for (const probe::ComparisonRow& row : rows) {
    values.insert(values.end(), row.values.begin(), row.values.end());
    const probe::Summary summary = probe::summarise(row.values);
    for (const auto& end : {summary.low, summary.high}) {
      if (end) values.push_back(*end);
    }
  }
  return range_around(values);
}

void draw_row(Canvas& canvas, const PlotFrame& frame, const probe::ComparisonRow& row, double y) {
  const Rgb colour = series_colour(style_of(row.kind).colour);
  canvas.line(frame.data.x, y, frame.data.right(), y, kGrid, 0.8);
  canvas.text(name_of(row), frame.data.x - kNameGap, y, kAxisStyle, Anchor::kEnd);
  std::int64_t missing = 0;
  for (const double value : row.values) {
    if (std::isfinite(value)) {
      canvas.disc({frame.at_x(value), y + 7}, 2, colour);
    } else {
      ++missing;
    }
  }
  if (missing > 0) {
    canvas.text(fmt::format("no number on {} of {}", missing,
                            counted(static_cast<std::int64_t>(row.values.size()), "seed")),
                frame.data.x + 6, y - 6, kPanelStyle);
    return;
  }
  const probe::Summary summary = probe::summarise(row.values);
  const double low = frame.at_x(summary.low.value_or(summary.min));
  const double high = frame.at_x(summary.high.value_or(summary.max));
  canvas.line(low, y - 3, high, y - 3, colour, 2);
  for (const double end : {low, high}) canvas.line(end, y - 7, end, y + 1, colour, 1.4);
  canvas.disc({frame.at_x(summary.mean), y - 3}, 4.2, colour);
}

void draw_guide(Canvas& canvas, const PlotFrame& frame, double value, const std::string& text,
                double text_y) {
  if (!std::isfinite(value)) return;
  const double x = frame.at_x(value);
  const std::array<Point, 2> points = {{{x, text_y}, {x, frame.data.bottom()}}};
  canvas.path(points, kSoftInk, 1.2, Dash::kShort);
  const bool is_right = x > frame.data.x + frame.data.width / 2;
  canvas.text(text, x + (is_right ? -4 : 4), text_y, kPanelStyle, is_right ? Anchor::kEnd : Anchor::kStart);
}

}  // namespace

std::string draw_comparison(const std::vector<probe::ComparisonRow>& rows,
                            const probe::ComparisonMetric& metric, const ComparisonFigure& figure) {
  double names = 0;
  std::vector<Series> entries;
  for (const probe::ComparisonRow& row : rows) {
    names = std::max(names, measure(name_of(row), kAxisStyle).width);
    const KindStyle style = style_of(row.kind);
    entries.push_back({.label = style.name, .colour = series_colour(style.colour), .width = 0});
  }
  const Legend legend = layout_legend(entries, 17);  // one line
  const double left = kMargin + std::ceil(names) + kNameGap;
  const Box data{left, kMargin + kTitleHeight + 2 * kPanelLine + 8, kWidth,
                 kRow * static_cast<double>(rows.size())};
  const std::string title = fit(visible(figure.title), 110);
  const double page_width = std::ceil(
      std::max({data.right(), kMargin + measure(title, kTitleStyle).width, kMargin + legend.size.width}) +
      2 * kMargin);
  const std::vector<std::string> verdict =
      figure.verdict.empty() ? std::vector<std::string>()
                             : wrapped(figure.verdict, page_width - 2 * kMargin, kAxisStyle);
  const double verdict_top = data.bottom() + kPlotBelow + 6;
  Canvas canvas(
      figure.format,
      {page_width, std::ceil(verdict_top + kPanelLine * static_cast<double>(verdict.size()) + kMargin)},
      kDensity);

  canvas.text(title, kMargin, kMargin + 9, kTitleStyle);
  const bool has_interval = !rows.empty() && rows.front().values.size() >= probe::kSeedsForInterval;
  canvas.text(fmt::format("large dot and bar: mean and {}; small dots: {}s",
                          has_interval ? "its 95 % interval" : "range", metric.sample),
              kMargin, kMargin + 29, kSubtitleStyle);
  draw_legend(canvas, legend, kMargin, kMargin + 38);

  const PlotFrame frame{.data = data, .x = value_range(rows, metric), .y = {}};
  for (const AxisMark& mark : round_marks(frame.x, 8)) {
    const double x = frame.at_x(mark.value);
    canvas.line(x, data.y, x, data.bottom(), kGrid, 0.8);
    canvas.text(mark.text, x, data.bottom() + kTickGap + 6, kBarStyle, Anchor::kMiddle);
  }
  canvas.frame(data, kFrame, 0.8);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].kind == probe::RowKind::kNoMixing)
      draw_guide(canvas, frame, probe::summarise(rows[i].values).mean,
                 metric.best_possible ? "no mixing (chance)" : "no mixing", data.y - 22);
  }
  if (metric.best_possible) draw_guide(canvas, frame, *metric.best_possible, "best possible", data.y - 9);
  for (std::size_t i = 0; i < rows.size(); ++i)
    draw_row(canvas, frame, rows[i], data.y + kRow * (static_cast<double>(i) + 0.5));
  std::string axis = metric.name;
  std::replace(axis.begin(), axis.end(), '_', ' ');
  if (!metric.unit.empty()) axis += " (" + metric.unit + ")";
  canvas.text(axis, data.x + data.width / 2, data.bottom() + 33, kAxisStyle, Anchor::kMiddle);
  for (std::size_t i = 0; i < verdict.size(); ++i)
    canvas.text(verdict[i], kMargin, verdict_top + kPanelLine * (static_cast<double>(i) + 0.5), kAxisStyle);
  return canvas.finish();
}

}  // namespace headtorch::report
