#include "src/cli/regression_data.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "src/core/error.hpp"
#include "src/tasks/date_formats.hpp"

namespace headtorch::cli {
namespace {

using table::Column;
using table::ColumnKind;

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// A word for nearly every row says nothing about any other row.
void check_words(const Column& column, std::size_t rows, const char* where) {
  if (column.kind != ColumnKind::kWord || column.categories.size() <= std::max<std::size_t>(2, rows / 2))
    return;
  throw ConfigError(where,
                    fmt::format("column {} has {} different words in {} rows, expected numbers, dates or "
                                "categories that repeat",
                                column.name, column.categories.size(), rows));
}

regress::Variable variable_of(const Column& column, const std::vector<std::size_t>& rows) {
  regress::Variable variable;
  if (column.kind == ColumnKind::kWord) {
    variable.n_categories = std::ssize(column.categories);
    for (const std::size_t row : rows) variable.codes.push_back(column.codes[row]);
  } else {
    for (const std::size_t row : rows) variable.numbers.push_back(column.numbers[row]);
  }
  return variable;
}

std::vector<std::int64_t> lines_of(const table::Table& table, const std::vector<std::size_t>& rows) {
  std::vector<std::int64_t> lines;
  for (const std::size_t row : rows) lines.push_back(table.lines[row]);
  return lines;
}

/// Categories that no row is left of would be classes without a member.
void keep_used_categories(Column& column, const std::vector<std::size_t>& rows) {
  if (column.kind != ColumnKind::kWord) return;
  std::vector<std::int64_t> used(column.categories.size(), -1);
  for (const std::size_t row : rows) used[static_cast<std::size_t>(column.codes[row])] = 0;
  std::vector<std::string> kept;
  for (std::size_t code = 0; code < used.size(); ++code) {
    if (used[code] < 0) continue;
    used[code] = std::ssize(kept);
    kept.push_back(column.categories[code]);
  }
  for (std::int64_t& code : column.codes) {
    if (code >= 0) code = used[static_cast<std::size_t>(code)];
  }
  column.categories = std::move(kept);
}

std::vector<const Column*> pointers(const std::vector<Column>& columns) {
  std::vector<const Column*> all;
  for (const Column& column : columns) all.push_back(&column);
  return all;
}

RegressionColumn described(const Column& column) { return {column.name, column.kind, column.categories}; }

}  // namespace

RegressionTable regression_table(const table::Table& table, const RegressionRequest& request) {
  for (std::size_t i = 0; i < request.x.size(); ++i) {
    if (std::find(request.x.begin(), request.x.begin() + static_cast<std::ptrdiff_t>(i), request.x[i]) !=
        request.x.begin() + static_cast<std::ptrdiff_t>(i))
      throw ConfigError("--x", fmt::format("names {} twice, expected each column once", request.x[i]));
  }
  if (holds(request.x, request.y))
    throw ConfigError(
        "--y", fmt::format("{} stands in --x too, expected a column to be explained by others", request.y));
  for (const std::string& name : request.categories) {
    if (!holds(request.x, name) && name != request.y)
      throw ConfigError("--category", fmt::format("{} is neither in --x nor --y", name));
  }
  std::vector<Column> columns;
  const auto add = [&](const std::string& name, const char* flag) {
    const Column& column = find_column(table, name, flag);
    columns.push_back(holds(request.categories, name) ? as_words(column) : column);
  };
  for (const std::string& name : request.x) add(name, "--x");
  add(request.y, "--y");
  const std::vector<std::size_t> rows = complete_rows(table, pointers(columns), request.missing);

  RegressionTable result;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    keep_used_categories(columns[i], rows);
    check_words(columns[i], rows.size(), i < request.x.size() ? "--x" : "--y");
    regress::Variable values = variable_of(columns[i], rows);
    if (i < request.x.size()) {
      result.x.push_back(described(columns[i]));
      result.data.x.push_back(std::move(values));
    } else {
      result.y = described(columns[i]);
      result.data.y = std::move(values);
    }
  }
  result.lines = lines_of(table, rows);
  result.dropped = static_cast<std::int64_t>(table.rows() - rows.size());
  return result;
}

Places places_in(const table::Table& table, const std::vector<RegressionColumn>& columns,
                 table::Missing missing) {
  std::vector<Column> found;
  for (const RegressionColumn& wanted : columns) {
    const Column& column = find_column(table, wanted.name, table.name);
    const bool as_category = wanted.kind == ColumnKind::kWord && column.kind != ColumnKind::kWord;
    found.push_back(as_category ? as_words(column) : column);
    if (found.back().kind != wanted.kind) {
      constexpr const char* kNames[] = {"numbers", "dates", "words"};
      throw DataError(
          table.name,
          fmt::format("column {} holds {}, expected {} as in the data of the regression", wanted.name,
                      kNames[static_cast<int>(column.kind)], kNames[static_cast<int>(wanted.kind)]));
    }
  }
  const std::vector<std::size_t> rows = complete_rows(table, pointers(found), missing);
  Places places;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    regress::Variable values = variable_of(found[i], rows);
    for (std::size_t row = 0; row < values.codes.size(); ++row) {
      const std::string& word = found[i].categories[static_cast<std::size_t>(values.codes[row])];
      const auto& known = columns[i].categories;
      const auto at = std::find(known.begin(), known.end(), word);
      if (at == known.end()) {
        throw DataError(table.name,
                        fmt::format("line {}, column {}: \"{}\" is new, expected one of {}",
                                    table.lines[rows[row]], columns[i].name, word, fmt::join(known, ", ")));
      }
      values.codes[row] = at - known.begin();
    }
    if (!values.codes.empty()) values.n_categories = std::ssize(columns[i].categories);
    places.x.push_back(std::move(values));
  }
  places.lines = lines_of(table, rows);
  places.dropped = static_cast<std::int64_t>(table.rows() - rows.size());
  return places;
}

std::string cell_text(const RegressionColumn& column, const regress::Variable& values, std::size_t row) {
  if (column.kind == ColumnKind::kWord) return column.categories[static_cast<std::size_t>(values.codes[row])];
  const double number = values.numbers[row];
  if (column.kind == ColumnKind::kNumber || number != std::floor(number)) return fmt::format("{}", number);
  return tasks::iso_text(std::chrono::sys_days{std::chrono::days{static_cast<int>(number)}});
}

}  // namespace headtorch::cli
