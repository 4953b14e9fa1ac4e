#include "src/regress/data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/core/error.hpp"

namespace headtorch::regress {
namespace {

void check_column(const Variable& column, const char* where) {
  for (std::size_t i = 0; i < rows_of(column); ++i) {
    const double value = value_at(column, i);
    if (column.n_categories == 0 && !std::isfinite(value))
      throw DataError(where, fmt::format("row {} is {}, expected a finite number", i + 1, value));
    if (column.n_categories > 0 && (value < 0 || value >= static_cast<double>(column.n_categories)))
      throw DataError(where, fmt::format("row {} has category {}, expected 0 to {}", i + 1, value,
                                         column.n_categories - 1));
  }
}

}  // namespace

std::size_t rows_of(const Variable& column) {
  return column.n_categories > 0 ? column.codes.size() : column.numbers.size();
}

double value_at(const Variable& column, std::size_t row) {
  return column.n_categories > 0 ? static_cast<double>(column.codes[row]) : column.numbers[row];
}

bool varies(const Variable& column) {
  const auto differs = [](const auto& values) {
    return std::any_of(values.begin(), values.end(), [&](auto value) { return value != values.front(); });
  };
  return column.n_categories > 0 ? differs(column.codes) : differs(column.numbers);
}

double widest_of_category(std::int64_t n_categories) {
  return static_cast<double>(n_categories - 1) / static_cast<double>(n_categories);
}

void check_columns(const std::vector<Variable>& columns, const char* where) {
  if (columns.empty()) throw ShapeError(where, "no columns, expected at least one");
  const std::size_t n = rows_of(columns.front());
  if (n == 0) throw DataError(where, "no rows, expected at least one");
  for (const Variable& column : columns) {
    if (rows_of(column) != n)
      throw ShapeError(where,
                       fmt::format("columns of {} and of {} rows, expected as many", n, rows_of(column)));
    check_column(column, where);
  }
}

void check_data(const RegressionData& data, const char* where) {
  check_columns(data.x, where);
  check_columns({data.y}, where);
  if (rows_of(data.y) != rows_of(data.x.front()))
    throw ShapeError(where, fmt::format("{} rows of x and {} of y, expected as many", rows_of(data.x.front()),
                                        rows_of(data.y)));
}

void check_places(const std::vector<Variable>& x, const std::vector<Variable>& places, const char* where) {
  if (places.size() != x.size())
    throw ShapeError(where, fmt::format("places of {} columns, expected {}", places.size(), x.size()));
  for (std::size_t k = 0; k < x.size(); ++k) {
    const bool same_kind = (x[k].n_categories > 0) == (places[k].n_categories > 0);
    if (!same_kind || rows_of(places[k]) != rows_of(places[0]))
      throw ShapeError(where, "places whose columns differ in kind or length, expected those of the data");
    if (x[k].n_categories == 0) check_column(places[k], where);
  }
}

bool is_plain(const RegressionData& data) {
  return data.x.size() == 1 && data.x[0].n_categories == 0 && data.y.n_categories == 0;
}

}  // namespace headtorch::regress
