#include "src/tasks/new_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/core/error.hpp"
#include "src/tasks/lags_task.hpp"
#include "src/tasks/rows_task.hpp"
#include "src/tasks/series_rows.hpp"
#include "src/tasks/table_rows.hpp"

namespace headtorch::tasks {
namespace {

constexpr std::size_t kAtOnce = 256;

template <typename Made>
void add_batches(const Made& task, const std::vector<double>& x, NewRows& rows) {
  const std::size_t width = task.rows().features.size() * kAtOnce;
  for (std::size_t at = 0; at < x.size(); at += width)
    rows.batches.push_back(task.asked(std::span(x).subspan(at, std::min(width, x.size() - at))));
}

NewRows table_new_rows(const TaskOptions& options, std::uint64_t seed, const table::Table& table,
                       table::Missing missing) {
  TableRows learned = table_rows(options, seed);
  std::vector<const table::Column*> columns;
  for (const TableForm::Input& input : learned.form.inputs)
    columns.push_back(&table::find_column(table, input.column, "columns"));
  NewRows rows{learned.rows.target, learned.rows.y_scaling, {}, {}};
  std::vector<double> x;
  for (const std::size_t row : table::complete_rows(table, columns, missing)) {
    learned.form.append(table, row, x);
    rows.lines.push_back(table.lines[row]);
  }
  add_batches(RowsTask(options, std::move(learned.rows), seed), x, rows);
  return rows;
}

NewRows series_new_rows(const TaskOptions& options, std::uint64_t seed, const table::Table& table,
                        table::Missing missing) {
  SeriesRows learned = series_rows(options);
  const table::Column* column = &series_column(table, options);
  table::complete_rows(table, {&column, 1}, missing);
  NewRows rows{learned.rows.target, learned.rows.y_scaling, {}, {}};
  std::vector<double> all;
  for (auto t = static_cast<std::size_t>(learned.form.lags); t <= table.rows(); ++t) {
    const std::vector<double> x = lags_before(column->numbers, t, learned.form.lags);
    if (std::any_of(x.begin(), x.end(), [](double value) { return std::isnan(value); })) continue;
    all.insert(all.end(), x.begin(), x.end());
    rows.lines.push_back(table.lines[t - 1]);
  }
  if (rows.lines.empty()) {
    throw DataError(table.name,
                    fmt::format("holds no {} values in a row, expected as many as lags", learned.form.lags));
  }
  if (options.attend == Attend::kRows)
    add_batches(RowsTask(options, std::move(learned.rows), seed), all, rows);
  else
    add_batches(LagsTask(options, std::move(learned.rows), seed), all, rows);
  return rows;
}

}  // namespace

NewRows new_rows(const TaskOptions& options, std::uint64_t seed, const table::Table& table,
                 table::Missing missing) {
  if (options.name == "table") return table_new_rows(options, seed, table, missing);
  if (options.name == "series") return series_new_rows(options, seed, table, missing);
  throw ConfigError(
      "predict", fmt::format("a run of task {} reads no CSV: expected one of table or series", options.name));
}

}  // namespace headtorch::tasks
