#include "src/tasks/series_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "src/core/error.hpp"
#include "src/tasks/task_table.hpp"

namespace headtorch::tasks {
namespace {

using table::Column;
using table::ColumnKind;

constexpr std::int64_t kMostLags = 1024, kMostHorizon = 10000;

std::int64_t in_range(std::string_view name, std::int64_t value, std::int64_t fallback, std::int64_t most) {
  if (value == 0) return fallback;
  if (value < 1 || value > most)
    throw ConfigError("task", fmt::format("{} = {}: expected 1 to {}", name, value, most));
  return value;
}

void check_time(const table::Table& table) {
  for (const Column& column : table.columns) {
    if (column.kind != ColumnKind::kDate) continue;
    for (std::size_t row = 1; row < table.rows(); ++row) {
      if (column.numbers[row] <= column.numbers[row - 1]) {
        throw DataError(table.name,
                        fmt::format("line {}, column {}: is not after the date above it, expected "
                                    "the lines of a series in the order of time",
                                    table.lines[row], column.name));
      }
    }
  }
}

std::vector<std::size_t> range(std::size_t first, std::size_t last) {
  std::vector<std::size_t> rows(last > first ? last - first : 0);
  std::iota(rows.begin(), rows.end(), first);
  return rows;
}

void split(Rows& rows, std::size_t gap, const TaskOptions& options) {
  const std::size_t n = rows.y.size(), last_fifth = n - n_test(n);
  const auto block = [&](std::int64_t origin) {
    return last_fifth +
           n_test(n) * static_cast<std::size_t>(origin) / static_cast<std::size_t>(options.n_origins);
  };
  const std::size_t test = block(options.origin), after = block(options.origin + 1),
                    validation = test - n_validation(n);
  if (after == test) {
    throw ConfigError("task", fmt::format("{} test rows in {} blocks, expected at least one in each",
                                          n_test(n), options.n_origins));
  }
  const auto before = [&](std::size_t first) { return first > gap ? first - gap : 0; };
  rows.train = range(0, before(validation));
  rows.validation = range(validation, before(test));
  rows.test = range(test, after);
  rows.known = range(0, before(test));
  if (options.n_train > 0) {  // the latest ones; a model trains on those of them before validation
    const std::size_t first = rows.known.size() - n_used(options.n_train, rows.known.size());
    rows.known = range(first, before(test));
    rows.train = range(first, before(validation));
  }
  if (rows.train.size() < 2 || rows.validation.empty()) {
    throw DataError(rows.file,
                    fmt::format("gives {} rows, and a horizon of {} leaves too few of them: expected a "
                                "longer series",
                                n, gap + 1));
  }
}

}  // namespace

std::vector<double> lags_before(const std::vector<double>& values, std::size_t t, std::int64_t lags) {
  std::vector<double> features;
  for (std::int64_t lag = 1; lag <= lags; ++lag)
    features.push_back(values[t - static_cast<std::size_t>(lag)]);
  return features;
}

const Column& series_column(const table::Table& table, const TaskOptions& options) {
  const Column& column = named_column(table, "column", options.column);
  if (column.kind != ColumnKind::kNumber) {
    throw DataError(table.name,
                    fmt::format("column {}: holds {}, expected the numbers of a series", column.name,
                                column.kind == ColumnKind::kWord ? "words" : "dates"));
  }
  check_time(table);
  return column;
}

SeriesRows series_rows(const TaskOptions& options) {
  const table::Table table = read_task_table(options);
  const Column* column = &series_column(table, options);
  table::complete_rows(table, {&column, 1}, options.missing);
  SeriesRows made;
  made.form.lags = in_range("lags", options.lags, made.form.lags, kMostLags);
  made.form.horizon = in_range("horizon", options.horizon, made.form.horizon, kMostHorizon);
  const auto lags = static_cast<std::size_t>(made.form.lags);
  const auto ahead = static_cast<std::size_t>(made.form.horizon) - 1;
  Rows& rows = made.rows;
  rows.file = table.name;
  rows.target = column->name;
  for (std::size_t lag = 1; lag <= lags; ++lag) rows.features.push_back(fmt::format("lag {}", lag));
  for (std::size_t t = lags; t + ahead < table.rows(); ++t) {
    const std::vector<double> x = lags_before(column->numbers, t, made.form.lags);
    const double y = column->numbers[t + ahead];
    if (std::isnan(y) || std::any_of(x.begin(), x.end(), [](double value) { return std::isnan(value); }))
      continue;
    rows.x.insert(rows.x.end(), x.begin(), x.end());
    rows.y.push_back(y);
    rows.lines.push_back(table.lines[t + ahead]);
  }
  check_enough(rows, fmt::format("{} values, lags = {}, horizon = {}", table.rows(), lags, ahead + 1));
  split(rows, ahead, options);
  scale(rows);
  rows.x_scaling.assign(lags, rows.y_scaling);
  return made;
}

}  // namespace headtorch::tasks
