#include "src/report/learning_curve_figure.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
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
      {"no mixing", best_of({RowKind::kNoMixing}, higher_is_better), 6},
      {"best fixed kernel", best_of({RowKind::kGeneric, RowKind::kShaped}, higher_is_better), 4},
      {"best plain reference", best_of({RowKind::kReference}, higher_is_better), 3}};
  std::size_t colour = 0;
  for (const ComparisonRow& row : points.front().rows) {
    if (row.kind == RowKind::kLearned) curves.push_back({row.name, named(row.name), colour++});
  }
  return curves;
}

void add(Plot& plot, const Curve& curve, const std::vector<probe::SizePoint>& points) {
  Series line{.label = curve.label, .colour = series_colour(curve.colour), .has_points = true};
  Band band{.colour = pale(line.colour)};
  for (const probe::SizePoint& point : points) {
    const ComparisonRow* row = curve.row(point);
    if (row == nullptr) continue;
    const probe::Summary summary = probe::summarise(row->values);
    line.x.push_back(static_cast<double>(point.n));
    line.y.push_back(summary.mean);
    band.low.push_back(summary.low.value_or(summary.min));
    band.high.push_back(summary.high.value_or(summary.max));
  }
  if (line.x.empty()) return;
  band.x = line.x;
  plot.series.push_back(std::move(line));
  plot.bands.push_back(std::move(band));
}

}  // namespace

std::string draw_learning_curve(const std::vector<probe::SizePoint>& points,
                                const probe::ComparisonMetric& metric, const LearningCurveFigure& figure) {
  Plot plot{.x_title = "training rows",
            .y_title = metric.unit.empty() ? metric.name : metric.name + ", " + metric.unit,
            .x_scale = AxisScale::kLogarithmic};
  for (const Curve& curve : curves_of(points, metric.higher_is_better)) add(plot, curve, points);
  return draw_panels({.title = figure.title,
                      .subtitle = "means with their 95 % intervals (below 4 of them: ranges)",
                      .rows = {{plot}},
                      .text = figure.text},
                     figure.format);
}

}  // namespace headtorch::report
