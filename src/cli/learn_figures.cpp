#include "src/cli/learn_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "src/report/arrays.hpp"
#include "src/report/panels.hpp"
#include "src/report/text.hpp"

namespace headtorch::cli {
namespace {

using report::readable;
using train::LearnedRow;

constexpr std::int64_t kMostWeightPlaces = 200;
constexpr std::size_t kPerRow = 3;
constexpr report::Rgb kDots = {0x8a, 0x8a, 0x8a};

std::string heading(const LearnReport& report) {
  return fmt::format(
      "{}: {} from {}", report.file, report.y,
      report.x.size() == 1 ? report.x.front() : report::counted(std::ssize(report.x), "column"));
}

/// Parts in rows of three.
void arrange(report::Panels& panels, std::vector<report::Part> parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i % kPerRow == 0) panels.rows.emplace_back();
    panels.rows.back().push_back(std::move(parts[i]));
  }
}

report::Plot curve_plot(const LearnReport& report, std::size_t i) {
  const LearnedRow& row = report.learned.rows[i];
  report::Plot plot{
      .title = fmt::format("{}: held out {}", title_of(row.form), readable(row.held_out_mean, 3)),
      .x_title = report.x.front(),
      .y_title = report.y};
  plot.series.push_back(
      {.x = report.rows.x, .y = report.rows.y, .colour = kDots, .width = 0, .has_points = true});
  plot.series.push_back(
      {.x = report.curve_x, .y = report.curves[i], .colour = report::series_colour(0), .width = 2});
  plot.y_range = report::range_around(report.rows.y);
  return plot;
}

report::Plot local_plot(const LearnReport& report) {
  report::Plot plot{.title = "local bandwidth: sd of the weights around a place",
                    .x_title = report.x.front(),
                    .y_title = "sd, in units of " + report.x.front()};
  plot.y_scale = report::AxisScale::kLogarithmic;
  for (std::size_t i = 0; i < report.local.size(); ++i) {
    const LearnedRow& row = report.learned.rows[static_cast<std::size_t>(report.local[i].form)];
    report::Series& series = plot.series.emplace_back();
    series.label = title_of(row.form);
    series.x = report.curve_x;
    series.colour = report::series_colour(i);
    for (const train::LocalKernel& kernel : train::local_kernels(row.kernel, report.rows, report.curve_x))
      series.y.push_back(kernel.width);
  }
  return plot;
}

report::Panels curves_page(const LearnReport& report) {
  report::Panels panels{
      .title = heading(report) + ", learned kernels",
      .subtitle = "leave-one-out chooses the parameters; squared errors are of held-out rows",
      .text = learn_verdict(report)};
  std::vector<report::Part> parts;
  for (std::size_t i = 0; i < report.learned.rows.size(); ++i) parts.emplace_back(curve_plot(report, i));
  arrange(panels, std::move(parts));
  panels.rows.push_back({local_plot(report)});
  return panels;
}

/// Of up to kMostWeightPlaces rows, evenly spaced.
std::vector<double> weight_places(const train::NumberRows& rows) {
  const std::int64_t n = std::min(rows.n(), kMostWeightPlaces);
  std::vector<double> places;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto first = rows.x.begin() + (n == 1 ? 0 : i * (rows.n() - 1) / (n - 1)) * rows.columns;
    places.insert(places.end(), first, first + rows.columns);
  }
  return places;
}

using KernelWeights = std::vector<std::vector<double>>;  ///< [places, rows] of each kernel

report::Panels weights_page(const LearnReport& report, const KernelWeights& weights) {
  report::Panels panels{
      .title = heading(report) + ", weights of the learned kernels",
      .subtitle = fmt::format("down: places, across: rows, both in the order of {}", report.x.front())};
  std::vector<report::Part> parts;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    parts.emplace_back(report::Matrix{.title = std::string(title_of(report.learned.rows[i].form)),
                                      .rows = std::ssize(weights[i]) / report.rows.n(),
                                      .columns = report.rows.n(),
                                      .values = weights[i]});
  }
  arrange(panels, std::move(parts));
  return panels;
}

}  // namespace

NamedFiles learned_files(const LearnReport& report, const std::vector<RegressionFormat>& formats) {
  NamedFiles files;
  const bool has_curves = !report.curves.empty();
  if (wants(formats, RegressionFormat::kCsv) && has_curves)
    files.emplace_back("learned.csv", learned_curves_csv(report));
  const bool draws = wants(formats, RegressionFormat::kPng) || wants(formats, RegressionFormat::kSvg);
  if (!draws && !wants(formats, RegressionFormat::kNpy)) return files;
  const std::vector<double> places = weight_places(report.rows);
  KernelWeights weights;
  for (const LearnedRow& row : report.learned.rows)
    weights.push_back(train::weights(row.kernel, report.rows.x, places));
  if (wants(formats, RegressionFormat::kNpy)) {
    const std::int64_t shape[] = {std::ssize(places) / report.rows.columns, report.rows.n()};
    for (std::size_t i = 0; i < weights.size(); ++i)
      files.emplace_back(fmt::format("weights-{}.npy", train::name_of(report.learned.rows[i].form)),
                         report::npy(std::vector<float>(weights[i].begin(), weights[i].end()), shape));
  }
  if (!draws) return files;
  const auto add = [&](const std::string& name, const report::Panels& page) {
    add_picture(files, formats, name,
                [&](report::Format format) { return report::draw_panels(page, format); });
  };
  if (has_curves) add("learned", curves_page(report));
  add("learned-weights", weights_page(report, weights));
  return files;
}

}  // namespace headtorch::cli
