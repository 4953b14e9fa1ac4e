#include "src/report/learning_curve_figure.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <optional>

#include "src/report/panels.hpp"

namespace headtorch::report {
namespace {

using probe::ComparisonRow;
using probe::RowKind;

/// What a curve shows at one size; null: nothing.
using Choice = std::function<const ComparisonRow*(const probe::SizePoint&)>;

struct Curve {
  std::string label;
  Choice row;
  std::size_t colour = 0;
  Dash dash = Dash::kSolid;
};

Choice best_of(std::vector<RowKind> kinds, bool higher_is_better) {
  return [kinds = std::move(kinds), higher_is_better](const probe::SizePoint& point) -> const ComparisonRow* {
    const ComparisonRow* best = nullptr;
    double best_mean = 0.0;
    for (const ComparisonRow& row : point.rows) {
      if (std::find(kinds.begin(), kinds.end(), row.kind) == kinds.end()) continue;
      const double mean = probe::summarise(row.values).mean;
      const bool is_better = higher_is_better ? mean > best_mean : mean < best_mean;
      if (!std::isfinite(mean) || (best != nullptr && !is_better)) continue;
      best = &row;
      best_mean = mean;
    }
    return best;
  };
}

Choice named(const std::string& name) {
  return [name](const probe::SizePoint& point) -> const ComparisonRow* {
    const auto found = std::find_if(point.rows.begin(), point.rows.end(),
                                    [&](const ComparisonRow& row) { return row.name == name; });
    return found == point.rows.end() ? nullptr : &*found;
  };
}

std::vector<Curve> curves_of(const std::vector<probe::SizePoint>& points, bool higher_is_better) {
  std::vector<Curve> curves = {
      {"no mixing", best_of({RowKind::kNoMixing}, higher_is_better), 6, Dash::kShort},
      {"best fixed kernel", best_of({RowKind::kGeneric, RowKind::kShaped}, higher_is_better), 4,
       Dash::kShort},
      {"best plain reference", best_of({RowKind::kReference}, higher_is_better), 3, Dash::kShort}};
  constexpr std::size_t kOfLearned[] = {0, 1, 2, 5};  // colours that the others leave
  constexpr Dash kDashes[] = {Dash::kSolid, Dash::kLong, Dash::kDotted};
  std::size_t i = 0;
  for (const ComparisonRow& row : points.front().rows) {
    if (row.kind != RowKind::kLearned) continue;
    curves.push_back({row.name, named(row.name), kOfLearned[i % std::size(kOfLearned)],
                      kDashes[i / std::size(kOfLearned) % std::size(kDashes)]});
    ++i;
  }
  return curves;
}

/// @param aside factor on x, so that intervals stand beside each other
void add(Plot& plot, const Curve& curve, const std::vector<probe::SizePoint>& points, double aside) {
  Series line{
      .label = curve.label, .colour = series_colour(curve.colour), .dash = curve.dash, .has_points = true};
  for (const probe::SizePoint& point : points) {
    const ComparisonRow* row = curve.row(point);
    if (row == nullptr) continue;
    const probe::Summary summary = probe::summarise(row->values);
    const double x = aside * static_cast<double>(point.n);
    line.x.push_back(x);
    line.y.push_back(summary.mean);
    plot.series.push_back({.x = {x, x},
                           .y = {summary.low.value_or(summary.min), summary.high.value_or(summary.max)},
                           .colour = line.colour,
                           .width = 0.8});
  }
  if (!line.x.empty()) plot.series.push_back(std::move(line));
}

}  // namespace

std::string draw_learning_curve(const std::vector<probe::SizePoint>& points,
                                const probe::ComparisonMetric& metric, const LearningCurveFigure& figure) {
  Plot plot{.x_title = "training rows",
            .y_title = metric.unit.empty() ? metric.name : metric.name + ", " + metric.unit,
            .x_scale = AxisScale::kLogarithmic};
  constexpr double kApart = 0.012;
  const std::vector<Curve> curves = curves_of(points, metric.higher_is_better);
  for (std::size_t i = 0; i < curves.size(); ++i)
    add(plot, curves[i], points,
        1.0 + kApart * (static_cast<double>(i) - static_cast<double>(curves.size() - 1) / 2));
  return draw_panels({.title = figure.title,
                      .subtitle = "means; thin lines: their 95 % intervals (below 4 values: ranges)",
                      .rows = {{plot}},
                      .text = figure.text},
                     figure.format);
}

}  // namespace headtorch::report
