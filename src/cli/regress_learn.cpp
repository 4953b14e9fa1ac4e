#include "src/cli/regress_learn.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "src/cli/learn_figures.hpp"
#include "src/cli/learn_report.hpp"
#include "src/cli/new_folder.hpp"

namespace headtorch::cli {
namespace {

using train::KernelForm;

constexpr std::int64_t kCurvePlaces = 400;
constexpr double kQuantiles[] = {0.1, 0.3, 0.5, 0.7, 0.9};

void check_is_of_numbers(const RegressionColumn& column) {
  if (column.kind == table::ColumnKind::kWord)
    throw ConfigError("--learn", fmt::format("column {} is of words, expected numbers", column.name));
}

/// In ascending order, so that no result depends on the order in the file.
train::NumberRows rows_of(const regress::RegressionData& data) {
  std::vector<std::vector<double>> all;
  for (std::size_t i = 0; i < data.y.numbers.size(); ++i) {
    std::vector<double>& row = all.emplace_back();
    for (const regress::Variable& x : data.x) row.push_back(x.numbers[i]);
    row.push_back(data.y.numbers[i]);
  }
  std::sort(all.begin(), all.end());
  train::NumberRows rows{.columns = std::ssize(data.x), .x = {}, .y = {}};
  for (const std::vector<double>& row : all) {
    rows.x.insert(rows.x.end(), row.begin(), row.end() - 1);
    rows.y.push_back(row.back());
  }
  return rows;
}

/// Curves and local bandwidths along the one column.
void look_along(LearnReport& report) {
  const std::vector<double>& x = report.rows.x;
  for (std::int64_t i = 0; i < kCurvePlaces; ++i)
    report.curve_x.push_back(
        std::lerp(x.front(), x.back(), static_cast<double>(i) / static_cast<double>(kCurvePlaces - 1)));
  for (const double quantile : kQuantiles)
    report.places.push_back(x[static_cast<std::size_t>(quantile * static_cast<double>(x.size() - 1))]);
  for (const train::LearnedRow& row : report.learned.rows) {
    report.curves.push_back(train::predict(row.kernel, report.rows, report.curve_x));
    if (train::is_learned(row.form) && row.form != KernelForm::kHeads)
      report.local.push_back({row.form, train::local_kernels(row.kernel, report.rows, report.places)});
  }
}

}  // namespace

ExitCode run_regress_learn(const LearnRequest& request) {
  LearnReport report;
  report.file = request.file;
  report.y = request.table.y.name;
  check_is_of_numbers(request.table.y);
  for (const RegressionColumn& column : request.table.x) {
    check_is_of_numbers(column);
    report.x.push_back(column.name);
  }
  report.rows = rows_of(request.table.data);
  train::check_learnable(report.rows);
  NewFolder folder("regress", request.out);

  const auto start = std::chrono::steady_clock::now();
  report.learned = train::learn_regression(
      report.rows, {.seeds = request.seeds, .n_threads = std::max(1u, std::thread::hardware_concurrency())});
  report.selected = regress::choose_bandwidth(request.table.data, {}, {});
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (report.rows.columns == 1) look_along(report);

  nlohmann::ordered_json document = learn_document(report);
  folder.write("result.json", document_text(document));
  for (const auto& [name, bytes] : learned_files(report, request.formats)) folder.write(name, bytes);
  if (request.output == Output::kJson) {
    document["out"] = folder.path().string();
    print_json(document);
    return ExitCode::kDone;
  }
  print(learn_table(report));
  print(fmt::format("\nWritten: {}\n", folder.path().string()));
  return ExitCode::kDone;
}

}  // namespace headtorch::cli
