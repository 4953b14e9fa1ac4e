#include "src/report/regression_figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "src/core/error.hpp"

namespace headtorch::report {
namespace {

constexpr Rgb kData{0x8a, 0x8a, 0x8a};
constexpr std::size_t kMostPoints = 2000, kSlicesARow = 3;

void check_equal(std::size_t n, std::size_t wanted, std::string_view what) {
  if (n != wanted) throw ShapeError("figure", fmt::format("{} {}, expected {}", n, what, wanted));
}

/// Every n-th, so that they are few enough.
std::size_t step_for(std::size_t points) { return (points + kMostPoints - 1) / kMostPoints; }

std::string data_label(std::size_t step) { return step <= 1 ? "data" : fmt::format("data, one of {}", step); }

Series data_series(const RegressionFigure& figure, const FitSlice& slice) {
  const std::size_t step = step_for(figure.y.size());
  Series series{.label = data_label(step), .colour = kData, .width = 0};
  for (std::size_t i = 0; i < figure.y.size(); i += std::max<std::size_t>(step, 1)) {
    series.x.push_back(slice.x[i]);
    series.y.push_back(figure.y[i]);
  }
  return series;
}

constexpr double kStrip = 0.05;  // between the strips of points below 0
constexpr std::size_t kMostStrips = 3;

/// The points of a class, below 0; a strip each while they are few.
Series class_series(const RegressionFigure& figure, const FitSlice& slice, std::size_t which) {
  const std::size_t step = step_for(figure.y.size());
  const double strip = figure.classes.size() <= kMostStrips ? static_cast<double>(which + 1) : 1.0;
  Series series{.colour = series_colour(which), .width = 0};
  for (std::size_t i = 0; i < figure.y.size(); i += std::max<std::size_t>(step, 1)) {
    if (figure.y[i] != static_cast<double>(which)) continue;
    series.x.push_back(slice.x[i]);
    series.y.push_back(-kStrip * strip);
  }
  return series;
}

/// Dashes once the colours are used up.
Dash dash_of(std::size_t index) {
  constexpr std::array kDashes = {Dash::kSolid, Dash::kLong, Dash::kShort, Dash::kDotted};
  return kDashes[index / kSeriesColours % kDashes.size()];
}

void add_curve(Plot& plot, const FitCurve& curve, std::size_t index, bool has_lines) {
  check_equal(curve.y.size(), curve.x.size(), "values of a curve");
  const Rgb colour = series_colour(index);
  if (!curve.low.empty()) {
    check_equal(curve.low.size(), curve.x.size(), "lower ends of a curve");
    check_equal(curve.high.size(), curve.x.size(), "upper ends of a curve");
    plot.bands.push_back({.x = curve.x, .low = curve.low, .high = curve.high, .colour = pale(colour)});
  }
  plot.series.push_back({.label = curve.label,
                         .x = curve.x,
                         .y = curve.y,
                         .colour = colour,
                         .dash = dash_of(index),
                         .width = has_lines ? 1.8 : 0,
                         .has_points = !has_lines});
}

void name_categories(Plot& plot, const std::vector<std::string>& categories) {
  const auto n = static_cast<double>(categories.size());
  plot.x_range = AxisRange{-0.5, n - 0.5};
  for (std::size_t i = 0; i < categories.size(); ++i)
    plot.x_marks.push_back({static_cast<double>(i), categories[i]});
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Up to where the score is drawn; absent: all of it.
std::optional<AxisRange> score_range(const SelectionFigure& figure) {
  std::vector<double> scores;
  for (const double score : figure.score) {
    if (std::isfinite(score)) scores.push_back(score);
  }
  if (scores.empty()) return {};
  const auto [least, most] = std::minmax_element(scores.begin(), scores.end());
  double low = *least, reach = scores.back();
  const auto include = [&](const ScoreMinimum& minimum) {
    if (!std::isfinite(minimum.score)) return;
    low = std::min(low, minimum.score);
    reach = std::max(reach, minimum.score);
  };
  if (figure.chosen) include(*figure.chosen);
  for (const ScoreMinimum& other : figure.others) include(other);
  if (reach - low < 0.05 * (*most - low)) reach = std::max(reach, median(scores));
  const double height = reach - low;
  if (!(height > 0) || *most <= low + 3 * height) return {};
  return AxisRange{low - 0.06 * height, low + 1.3 * height};
}

std::string bandwidth_text(std::string_view what, double bandwidth) {
  return fmt::format("{} {:.4g}", what, bandwidth);
}

/// Where the colours end: one in ten rows may reach above, as few places far from all points do.
double colour_top(const std::vector<double>& values, std::size_t columns) {
  std::vector<double> largest;
  for (auto row = values.begin(); row != values.end(); row += static_cast<std::ptrdiff_t>(columns))
    largest.push_back(*std::max_element(row, row + static_cast<std::ptrdiff_t>(columns)));
  std::sort(largest.begin(), largest.end());
  if (largest.empty() || !(largest.back() > 0)) return 1;
  const double usual = largest[(largest.size() - 1) * 9 / 10];
  return largest.back() > 1.5 * usual && usual > 0 ? usual : largest.back();
}

/// Round numbers of x, each over the first point at or above it.
std::vector<AxisMark> point_marks(const std::vector<double>& sorted) {
  if (sorted.empty()) return {};
  std::vector<AxisMark> marks = round_marks(range_around({sorted.front(), sorted.back()}), 9);
  std::erase_if(
      marks, [&](const AxisMark& mark) { return mark.value < sorted.front() || mark.value > sorted.back(); });
  for (AxisMark& mark : marks) {
    const auto at = std::lower_bound(sorted.begin(), sorted.end(), mark.value);
    mark.value = static_cast<double>(at - sorted.begin()) + 0.5;
  }
  return marks;
}

}  // namespace

Plot fit_plot(const RegressionFigure& figure, const FitSlice& slice) {
  check_equal(slice.x.size(), figure.y.size(), "x of the data");
  Plot plot{.x_title = slice.x_title, .y_title = figure.y_title};
  const bool has_lines = slice.categories.empty();
  if (figure.classes.empty()) {
    plot.series.push_back(data_series(figure, slice));
  } else {
    for (std::size_t i = 0; i < figure.classes.size(); ++i)
      plot.series.push_back(class_series(figure, slice, i));
    const auto strips = static_cast<double>(std::min(figure.classes.size(), kMostStrips));
    plot.y_range = AxisRange{-kStrip * (strips + 1), 1.03};
  }
  for (std::size_t i = 0; i < slice.curves.size(); ++i) add_curve(plot, slice.curves[i], i, has_lines);
  if (!has_lines) name_categories(plot, slice.categories);
  return plot;
}

std::string draw_regression(const RegressionFigure& figure, Format format) {
  Panels page{.title = figure.title, .subtitle = figure.subtitle, .text = figure.text};
  for (std::size_t i = 0; i < figure.slices.size(); ++i) {
    if (i % kSlicesARow == 0) page.rows.emplace_back();
    page.rows.back().emplace_back(fit_plot(figure, figure.slices[i]));
  }
  return draw_panels(page, format);
}

Plot selection_plot(const SelectionFigure& figure) {
  check_equal(figure.score.size(), figure.bandwidth.size(), "scores");
  Plot plot{.x_title = figure.bandwidth_title,
            .y_title = figure.score_title,
            .y_range = score_range(figure),
            .x_scale = AxisScale::kLogarithmic};
  plot.series.push_back({.x = figure.bandwidth, .y = figure.score, .colour = series_colour(0)});
  if (plot.y_range) plot.x_title += " (higher scores are cut)";
  Series dots{.colour = series_colour(1), .width = 0};
  const auto add = [&](const ScoreMinimum& minimum, std::string_view what, Dash dash) {
    plot.guides.push_back(
        {.x = minimum.bandwidth, .text = bandwidth_text(what, minimum.bandwidth), .dash = dash});
    dots.x.push_back(minimum.bandwidth);
    dots.y.push_back(minimum.score);
  };
  if (figure.chosen) add(*figure.chosen, "chosen", Dash::kSolid);
  for (const ScoreMinimum& other : figure.others) add(other, "minimum", Dash::kShort);
  plot.series.push_back(std::move(dots));
  return plot;
}

std::string draw_selection(const SelectionFigure& figure, Format format) {
  return draw_panels({.title = figure.title,
                      .subtitle = figure.subtitle,
                      .rows = {{selection_plot(figure)}},
                      .text = figure.text},
                     format);
}

Matrix weights_matrix(const WeightsFigure& figure) {
  const std::size_t rows = figure.places.size(), columns = figure.x.size();
  check_equal(figure.weights.size(), rows * columns, "weights");
  std::vector<std::size_t> order(columns);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return figure.x[a] < figure.x[b]; });
  Matrix matrix{.x_title = "points, by " + figure.x_title,
                .y_title = "at " + figure.x_title,
                .bar_title = "weight",
                .rows = static_cast<std::int64_t>(rows),
                .columns = static_cast<std::int64_t>(columns)};
  std::vector<double> sorted;
  for (const std::size_t j : order) sorted.push_back(figure.x[j]);
  for (std::size_t i = 0; i < rows; ++i) {
    for (const std::size_t j : order) matrix.values.push_back(figure.weights[i * columns + j]);
  }
  if (matrix.values.empty()) return matrix;
  const double top = colour_top(matrix.values, columns);
  const double largest = *std::max_element(matrix.values.begin(), matrix.values.end());
  matrix.range = AxisRange{0, top};
  if (top < largest) matrix.bar_title = fmt::format("weight (largest {:.2g})", largest);
  matrix.column_marks = point_marks(sorted);
  if (rows > 0) matrix.y_range = AxisRange{figure.places.front(), figure.places.back()};
  return matrix;
}

std::string draw_weights(const WeightsFigure& figure, Format format) {
  return draw_panels({.title = figure.title,
                      .subtitle = figure.subtitle,
                      .rows = {{weights_matrix(figure)}},
                      .text = figure.text},
                     format);
}

}  // namespace headtorch::report
