#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "src/core/error.hpp"
#include "src/core/head_place.hpp"
#include "src/report/figures.hpp"
#include "src/report/heatmap_style.hpp"
#include "src/report/legend.hpp"
#include "src/report/text.hpp"

namespace headtorch::report {
namespace {

constexpr double kPlotWidth = 620, kPlotHeight = 130, kPlotBetween = 32;
constexpr double kLegendAt = 18;          // right of the plots
constexpr std::size_t kMostPoints = 800;  // of the loss: more are averaged, and could not be seen

Rgb loss_colour() { return kSoftInk; }

void check_numbers(std::size_t steps, std::size_t values, std::string_view what) {
  if (steps != values)
    throw ShapeError("history", fmt::format("{} values of {}, expected {}, one a step", values, what, steps));
}

/// Means over neighbours.
Series loss_series(const History& history) {
  Series series{.label = {}, .colour = loss_colour()};
  const std::size_t n = history.loss.size();
  const std::size_t each = (n + kMostPoints - 1) / kMostPoints;
  for (std::size_t first = 0; first < n; first += each) {
    const std::size_t end = std::min(first + each, n);
    double x = 0, y = 0;
    for (std::size_t i = first; i < end; ++i) {
      x += history.loss_steps[i] / static_cast<double>(end - first);
      y += history.loss[i] / static_cast<double>(end - first);
    }
    series.x.push_back(x);
    series.y.push_back(y);
  }
  return series;
}

/// Colour for the head and dashes for the layer; with more heads than colours, both for the line's place
/// among all.
Series head_series(const HeadHistory& head, std::size_t place, bool many, const std::vector<double>& steps) {
  constexpr std::array kDashes = {Dash::kSolid, Dash::kLong, Dash::kShort, Dash::kDotted};
  return {.label = head_name(head.head),
          .x = steps,
          .y = head.values,
          .colour = series_colour(many ? place : static_cast<std::size_t>(head.head.head)),
          .dash = kDashes[(many ? place / kSeriesColours : static_cast<std::size_t>(head.head.layer)) %
                          kDashes.size()],
          .has_points = steps.size() <= 20};
}

std::vector<Plot> plots_of(const History& history) {
  check_numbers(history.loss_steps.size(), history.loss.size(), "the loss");
  std::vector<double> all_steps = history.loss_steps;
  all_steps.insert(all_steps.end(), history.steps.begin(), history.steps.end());
  const AxisRange range = range_around(all_steps);
  std::vector<Plot> plots;
  plots.push_back({.title = "loss", .x_title = {}, .y_title = "nats", .series = {loss_series(history)}});
  for (const ScoreHistory& score : history.scores) {
    Plot plot{
        .title = visible(score.name), .x_title = {}, .y_title = {}, .series = {}, .y_range = score.range};
    const bool many = std::any_of(score.heads.begin(), score.heads.end(), [](const HeadHistory& head) {
      return head.head.stack != Stack::kSelf || head.head.head >= static_cast<std::int64_t>(kSeriesColours);
    });
    for (const HeadHistory& head : score.heads) {
      check_numbers(history.steps.size(), head.values.size(), score.name);
      plot.series.push_back(head_series(head, plot.series.size(), many, history.steps));
    }
    plots.push_back(std::move(plot));
  }
  for (Plot& plot : plots) {
    plot.x_range = range;
    plot.shows_x_marks = false;
  }
  plots.back().shows_x_marks = true;
  plots.back().x_title = "step";
  return plots;
}

}  // namespace

std::string draw_history(const History& history, Format format) {
  const std::vector<Plot> plots = plots_of(history);
  const double slot = kPlotHeight + kPlotBetween;
  const double top = kMargin + 26 + kPlotAbove;
  const auto n = static_cast<double>(plots.size());
  std::vector<Series> entries;
  for (const Plot& plot : plots) entries.insert(entries.end(), plot.series.begin(), plot.series.end());
  const Legend legend = layout_legend(entries, n * slot - kPlotBetween);
  const std::string title = fit(visible(history.title), 100);

  const double legend_x = kMargin + kPlotLeft + kPlotWidth + kLegendAt;
  const Extent size{
      std::ceil(std::max(legend_x + legend.size.width, kMargin + measure(title, kTitleStyle).width) +
                kMargin),
      std::ceil(top + n * slot - kPlotBetween + kPlotBelow + kMargin)};
  Canvas canvas(format, size, kDensity);
  canvas.text(title, kMargin, kMargin + 9, kTitleStyle);
  for (std::size_t i = 0; i < plots.size(); ++i) {
    draw_plot(canvas, {kMargin + kPlotLeft, top + static_cast<double>(i) * slot, kPlotWidth, kPlotHeight},
              plots[i]);
  }
  draw_legend(canvas, legend, legend_x, top);
  return canvas.finish();
}

std::string draw_curve(const Plot& plot, Format format) {
  constexpr double kWidth = 620, kHeight = 340;
  const Legend legend = layout_legend(plot.series, kHeight);
  const Box data{kMargin + kPlotLeft, kMargin + kPlotAbove, kWidth, kHeight};
  const double right = legend.entries.empty() ? data.right() : data.right() + kLegendAt + legend.size.width;
  const double title_end = data.x + measure(plot.title, kHeadStyle).width;
  Canvas canvas(format,
                {std::ceil(std::max(right, title_end) + kMargin), data.bottom() + kPlotBelow + kMargin},
                kDensity);
  draw_plot(canvas, data, plot);
  draw_legend(canvas, legend, data.right() + kLegendAt, data.y);
  return canvas.finish();
}

}  // namespace headtorch::report
