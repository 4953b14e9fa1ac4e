#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "src/cli/scale_results.hpp"
#include "src/report/text.hpp"

namespace headtorch::cli {
namespace {

using probe::ScalePoint;
using report::Plot;
using report::Series;

using Number = std::function<double(const ScalePoint&)>;

Series line(const std::string& label, std::size_t colour, report::Dash dash = report::Dash::kSolid) {
  return {.label = label, .colour = report::series_colour(colour), .dash = dash, .has_points = true};
}

/// A curve over widths for each number of keys: solid for the most, dashed for fewer.
void add_curves(Plot& plot, const std::string& label, std::size_t colour,
                const std::vector<ScalePoint>& points, const Number& number) {
  for (const ScalePoint& point : points) {
    const bool starts = plot.series.empty() || plot.series.back().x.empty() ||
                        plot.series.back().x.back() >= static_cast<double>(point.d);
    if (starts || &point == points.data()) {
      plot.series.push_back(line(fmt::format("{}, {} keys", label, point.n), colour,
                                 point.n == points.back().n ? report::Dash::kSolid : report::Dash::kShort));
    }
    plot.series.back().x.push_back(static_cast<double>(point.d));
    plot.series.back().y.push_back(number(point));
  }
}

Plot over_width(const std::string& title, const std::string& unit, const std::vector<ScalePoint>& points,
                const std::function<double(const probe::Sharpness&)>& number) {
  Plot plot{.title = title,
            .x_title = "d, features of q and k",
            .y_title = unit,
            .x_scale = report::AxisScale::kLogarithmic};
  add_curves(plot, "unscaled", 1, points, [&](const ScalePoint& point) { return number(point.unscaled); });
  add_curves(plot, "scaled", 0, points, [&](const ScalePoint& point) { return number(point.scaled); });
  return plot;
}

Plot spread_plot(const std::vector<ScalePoint>& points) {
  Plot plot{.title = "Spread of scores",
            .x_title = "d, features of q and k",
            .y_title = "standard deviation",
            .x_scale = report::AxisScale::kLogarithmic};
  Series unscaled = line("q.k", 1), scaled = line("q.k / sqrt(d)", 0);
  for (const ScalePoint& point : points) {
    if (point.n != points.back().n) continue;
    const double d = static_cast<double>(point.d);
    unscaled.x.push_back(d);
    unscaled.y.push_back(point.score_sd.mean);
    scaled.x.push_back(d);
    scaled.y.push_back(point.score_sd.mean / std::sqrt(d));
  }
  plot.series = {unscaled, scaled};
  return plot;
}

/// The weight of the larger of two scores, the other being the limit it is about to leave less 1.
Plot overflow_plot(const std::vector<probe::SoftmaxLimits>& limits) {
  constexpr int kPoints = 113;
  const probe::NumberFormat format = probe::number_formats().back();
  Plot plot{.title = fmt::format("Softmax of (s, 10) in {}", format.name),
            .x_title = "score s",
            .y_title = "weight of s"};
  Series naive = line(
             fmt::format("naive: 0 once the sum overflows, no number above {:.1f}", limits.back().largest),
             1),
         safe = line("safe", 0);
  naive.has_points = safe.has_points = false;
  naive.width = 4.0;
  for (int i = 0; i < kPoints; ++i) {
    const double score = format.rounded(6.0 + i / 14.0);
    const auto weight = [&](probe::Shift shift) {
      return probe::softmax_in(format, {score, 10.0}, shift)[0];
    };
    naive.x.push_back(score);
    naive.y.push_back(weight(probe::Shift::kNone));
    safe.x.push_back(score);
    safe.y.push_back(weight(probe::Shift::kRowMaximum));
  }
  plot.series = {naive, safe};
  return plot;
}

Plot temperature_plot(const probe::TemperatureStudy& study) {
  Plot plot{.title = fmt::format("Temperature, d = {}, {} keys", study.d, study.n),
            .x_title = "temperature",
            .y_title = "entropy, nats",
            .x_scale = report::AxisScale::kLogarithmic};
  Series softmax = line("softmax", 0), linear = line("linear attention", 2);
  for (const probe::TemperaturePoint& point : study.points) {
    softmax.x.push_back(point.temperature);
    softmax.y.push_back(point.softmax_entropy.mean);
    linear.x.push_back(point.temperature);
    linear.y.push_back(point.linear_entropy.mean);
  }
  plot.series = {softmax, linear};
  return plot;
}

}  // namespace

report::Panels scale_panels(const ScaleResults& results) {
  const auto& points = results.points;
  return {
      .title = "Why scores are divided by sqrt(d)",
      .subtitle =
          fmt::format("q and k of independent standard normal entries, {} rows for each width, seed {}",
                      results.samples, results.seed),
      .rows = {{spread_plot(points), over_width("Entropy of the weights", "nats", points,
                                                [](const auto& s) { return s.entropy.mean; })},
               {over_width("Largest weight", "mean", points, [](const auto& s) { return s.max_weight.mean; }),
                over_width("Jacobian of the softmax", "mean Frobenius norm", points,
                           [](const auto& s) { return s.jacobian_norm.mean; })},
               {overflow_plot(results.limits), temperature_plot(results.temperature)}},
      .text = {}};
}

report::Panels grid_panels(const ScaleGridResults& results) {
  report::Matrix matrix{.title = "Test loss; hatched: diverged",
                        .x_title = "peak learning rate",
                        .y_title = "scale",
                        .bar_title = "test loss",
                        .rows = std::ssize(results.grid.rows),
                        .columns = std::ssize(results.grid.rates)};
  Plot plot{.title = "The same as curves",
            .x_title = "peak learning rate",
            .y_title = "test loss",
            .x_scale = report::AxisScale::kLogarithmic};
  for (const double rate : results.grid.rates) matrix.column_names.push_back(fmt::format("{:g}", rate));
  for (std::size_t i = 0; i < results.grid.rows.size(); ++i) {
    const probe::ScaleGridRow& row = results.grid.rows[i];
    matrix.row_names.push_back(row.scale);
    Series& curve = plot.series.emplace_back(line(row.scale, i));
    for (std::size_t rate = 0; rate < results.grid.rates.size(); ++rate) {
      const double loss = cell_loss(row.trainings[rate]);
      matrix.values.push_back(loss);
      matrix.cell_texts.push_back(std::isfinite(loss) ? fmt::format("{:.2f}", loss) : "");
      curve.x.push_back(results.grid.rates[rate]);
      curve.y.push_back(loss);
    }
  }
  return {.title = fmt::format("Scale and learning rate: {}", results.task),
          .subtitle = fmt::format("{} after {}", report::counted(results.n_seeds, "seed"),
                                  report::counted(results.steps, "step")),
          .rows = {{matrix}, {plot}},
          .text = results.verdict.verdict};
}

}  // namespace headtorch::cli
