#include "src/table/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "src/core/error.hpp"
#include "src/core/file.hpp"
#include "src/core/nearest.hpp"
#include "src/table/cell.hpp"
#include "src/table/cells.hpp"

namespace headtorch::table {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

bool is_quantity(CellKind kind) { return kind == CellKind::kNumber || kind == CellKind::kDate; }

/// A header has names; a first line of numbers, dates and missing cells is a row.
bool first_is_header(const Cells& cells, std::string_view name) {
  bool words = false, quantities = false;
  std::string_view broken;
  for (std::size_t j = 0; j < cells.width; ++j) {
    const CellKind kind = read_cell(cells.at(0, j)).kind;
    words = words || kind == CellKind::kWord;
    quantities = quantities || is_quantity(kind);
    if (kind == CellKind::kBroken && broken.empty()) broken = cells.at(0, j);
  }
  if (quantities && !words && !broken.empty()) {
    throw DataError(name, fmt::format("line {}: {}; or names of columns in all cells of the first line",
                                      cells.lines[0], complaint(broken)));
  }
  return words || !quantities;
}

std::vector<std::string> names_of(const Cells& cells, bool has_header, std::string_view name) {
  std::vector<std::string> names;
  for (std::size_t j = 0; j < cells.width; ++j) {
    names.push_back(has_header ? std::string(cells.at(0, j)) : std::to_string(j + 1));
    if (names.back().empty()) {
      throw DataError(name, fmt::format("line {}: column {} of {} has no name, expected one in the header",
                                        cells.lines[0], j + 1, cells.width));
    }
    if (std::find(names.begin(), names.end() - 1, names.back()) != names.end() - 1) {
      throw DataError(name, fmt::format("line {}: two columns are named \"{}\", expected different names",
                                        cells.lines[0], one_line(names.back())));
    }
  }
  return names;
}

std::string_view described(CellKind kind) {
  if (kind == CellKind::kNumber) return "a number";
  return kind == CellKind::kDate ? "a date YYYY-MM-DD" : "a word";
}

/// The cells of one column below the header.
class ColumnReader {
 public:
  ColumnReader(const Cells& cells, std::size_t column, std::size_t first_row)
      : cells_(cells), column_(column), first_(first_row) {}

  Column read(std::string_view file, std::string name) const {
    Column column;
    column.name = std::move(name);
    std::vector<double> numbers(cells_.rows() - first_, kNaN);
    CellKind kind = CellKind::kMissing;
    std::int64_t seen = 0;  // line of the first cell that is not missing
    for (std::size_t i = first_; i < cells_.rows(); ++i) {
      const std::string_view text = cells_.at(i, column_);
      const Cell cell = read_cell(text);
      if (cell.kind == CellKind::kMissing) continue;
      if (kind == CellKind::kMissing && cell.kind != CellKind::kBroken) {
        kind = cell.kind;
        seen = cells_.lines[i];
      }
      if (cell.kind != kind) {
        const std::string what =
            cell.kind == CellKind::kBroken
                ? complaint(text)
                : fmt::format("\"{}\" is {}, expected {} as in line {}", one_line(text.substr(0, 60)),
                              described(cell.kind), described(kind), seen);
        throw DataError(file, fmt::format("line {}, column {}: {}", cells_.lines[i], column.name, what));
      }
      numbers[i - first_] = cell.number;
    }
    if (kind == CellKind::kWord) {
      column.kind = ColumnKind::kWord;
      read_words(column);
    } else {
      column.kind = kind == CellKind::kDate ? ColumnKind::kDate : ColumnKind::kNumber;
      column.numbers = std::move(numbers);
    }
    return column;
  }

 private:
  void read_words(Column& column) const {
    std::set<std::string_view> words;
    for (std::size_t i = first_; i < cells_.rows(); ++i) {
      const std::string_view text = cells_.at(i, column_);
      if (read_cell(text).kind != CellKind::kMissing) words.insert(text);
    }
    column.categories.assign(words.begin(), words.end());
    for (std::size_t i = first_; i < cells_.rows(); ++i) {
      const auto place =
          std::lower_bound(column.categories.begin(), column.categories.end(), cells_.at(i, column_));
      const bool found = place != column.categories.end() && *place == cells_.at(i, column_);
      column.codes.push_back(found ? place - column.categories.begin() : -1);
    }
  }

  const Cells& cells_;
  std::size_t column_, first_;
};

}  // namespace

bool Column::is_missing(std::size_t row) const {
  return kind == ColumnKind::kWord ? codes[row] < 0 : std::isnan(numbers[row]);
}

Table parse_table(std::string_view bytes, std::string_view name) {
  const Cells cells = split_cells(bytes, name);
  if (cells.rows() == 0) throw DataError(name, "is empty, expected a header and rows");
  Table table;
  table.name = name;
  table.has_header = first_is_header(cells, name);
  std::vector<std::string> names = names_of(cells, table.has_header, name);
  const std::size_t first = table.has_header ? 1 : 0;
  if (cells.rows() == first) throw DataError(name, "has no rows below its header, expected at least one");
  table.lines.assign(cells.lines.begin() + static_cast<std::ptrdiff_t>(first), cells.lines.end());
  for (std::size_t j = 0; j < cells.width; ++j)
    table.columns.push_back(ColumnReader(cells, j, first).read(name, std::move(names[j])));
  return table;
}

Table read_table(const std::filesystem::path& path) { return parse_table(read_file(path), path.string()); }

const Column& find_column(const Table& table, std::string_view name, std::string_view where) {
  std::vector<std::string> known;
  for (const Column& column : table.columns) {
    if (column.name == name) return column;
    known.push_back(column.name);
  }
  const std::string meant = nearest(name, known);
  throw ConfigError(where,
                    one_line(fmt::format("\"{}\" is no column of {}{}: expected one of {}", name, table.name,
                                         meant.empty() ? "" : fmt::format(" (did you mean {}?)", meant),
                                         fmt::join(known, ", "))));
}

Column as_words(const Column& column) {
  if (column.kind == ColumnKind::kWord) return column;
  Column words;
  words.name = column.name;
  words.kind = ColumnKind::kWord;
  std::map<double, std::int64_t> codes;
  for (const double number : column.numbers)
    if (!std::isnan(number)) codes.emplace(number, 0);
  for (auto& [number, code] : codes) {
    code = std::ssize(words.categories);
    words.categories.push_back(column.kind == ColumnKind::kDate ? date_text(number)
                                                                : fmt::format("{}", number + 0.0));
  }
  for (const double number : column.numbers)
    words.codes.push_back(std::isnan(number) ? -1 : codes.at(number));
  return words;
}

std::vector<std::size_t> complete_rows(const Table& table, std::span<const Column* const> columns,
                                       Missing missing) {
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto lacking = std::find_if(columns.begin(), columns.end(),
                                      [&](const Column* column) { return column->is_missing(row); });
    if (lacking == columns.end()) {
      rows.push_back(row);
    } else if (missing == Missing::kRefuse) {
      throw DataError(table.name,
                      fmt::format("line {}, column {}: a missing value, expected one (missing = drop leaves "
                                  "such rows out)",
                                  table.lines[row], (*lacking)->name));
    }
  }
  if (rows.empty())
    throw DataError(table.name, "no row is complete, expected at least one without missing values");
  return rows;
}

}  // namespace headtorch::table
