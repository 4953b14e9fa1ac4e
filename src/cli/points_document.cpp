#include "src/cli/points_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "src/cli/json_number.hpp"
#include "src/report/table.hpp"
#include "src/report/text.hpp"
#include "train/run.hpp"

namespace headtorch::cli {
namespace {

using Errors = std::vector<tasks::PointErrors>;

struct Column {
  const char* key;
  const char* name;
  double tasks::PointErrors::*error;
};

constexpr Column kColumns[] = {
    {"model", "this model", &tasks::PointErrors::model},
    {"nadaraya_watson", "Nadaraya-Watson", &tasks::PointErrors::nadaraya_watson},
    {"nearest_3", "3 nearest", &tasks::PointErrors::nearest_3},
    {"average", "average", &tasks::PointErrors::average},
    {"least_squares", "least squares", &tasks::PointErrors::least_squares},
    {"best", "best possible", &tasks::PointErrors::best},
};

}  // namespace

nlohmann::ordered_json points_document(const Errors& errors) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const tasks::PointErrors& at : errors) {
    nlohmann::ordered_json line = {{"k", at.k}};
    for (const Column& column : kColumns) line[column.key] = json_number(at.*column.error);
    list.push_back(line);
  }
  return list;
}

std::string points_text(const Errors& errors) {
  report::Table table{.headers = {"points seen"}, .rows = {}, .align = {report::Align::kRight}};
  for (const Column& column : kColumns) {
    table.headers.emplace_back(column.name);
    table.align.push_back(report::Align::kRight);
  }
  double model = 0.0, kernel = 0.0;
  for (const tasks::PointErrors& at : errors) {
    std::vector<std::string> row = {std::to_string(at.k)};
    for (const Column& column : kColumns) row.push_back(report::readable(at.*column.error, 3));
    table.rows.push_back(std::move(row));
    if (at.k < 2) continue;
    model += at.model;
    kernel += at.nadaraya_watson;
  }
  std::string text = fmt::format("Mean squared error of y, {} test sequences:\n{}", train::kPointExamples,
                                 report::to_text(table));
  if (kernel > 0.0) {
    text += fmt::format("From 2 points on, the model's error is {} % of that of Nadaraya-Watson.\n",
                        report::readable(100.0 * model / kernel, 3));
  }
  return text;
}

report::Plot points_plot(const Errors& errors, const std::string& task) {
  double top = 0.0;
  for (const tasks::PointErrors& at : errors) top = std::max(top, 2.0 * at.model);
  report::Plot plot{.title = task,
                    .x_title = "points seen",
                    .y_title = "mean squared error",
                    .series = {},
                    .y_range = report::AxisRange{0.0, top}};
  for (const Column& column : kColumns) {
    report::Series series{
        .label = column.name, .colour = report::series_colour(plot.series.size()), .has_points = true};
    for (const tasks::PointErrors& at : errors) {
      const double error = at.*column.error;
      series.x.push_back(static_cast<double>(at.k));
      series.y.push_back(error <= top ? error : std::numeric_limits<double>::quiet_NaN());
    }
    plot.series.push_back(std::move(series));
  }
  return plot;
}

}  // namespace headtorch::cli
