#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headtorch::table {

enum class ColumnKind {
  kNumber,
  kDate,  ///< YYYY-MM-DD: numbers are days since 1970-01-01
  kWord,  ///< a category: codes into `categories`
};

/// One column of a table. Missing: an empty cell, blanks, NA, N/A, NaN, nan, null.
struct Column {
  std::string name;
  ColumnKind kind = ColumnKind::kNumber;
  std::vector<double> numbers;          ///< a number a row, NaN where missing; empty under kWord
  std::vector<std::int64_t> codes;      ///< a code a row, -1 where missing; only under kWord
  std::vector<std::string> categories;  ///< distinct words in ascending order; only under kWord

  bool is_missing(std::size_t row) const;
};

struct Table {
  std::string name;  ///< of the file, for messages
  std::vector<Column> columns;
  std::vector<std::int64_t> lines;  ///< of the file, from 1, by row
  bool has_header = true;           ///< false: columns are named 1, 2, ...

  std::size_t rows() const { return lines.size(); }
};

/// Reads CSV (RFC 4180; UTF-8 with or without a byte-order mark; lines end in LF, CR LF or CR; blank ones at
/// the end are dropped). The separator, one of comma, semicolon and tab, is the one that occurs most in the
/// first line. Blanks around a cell do not count. The first line is a header unless its cells are numbers,
/// dates or missing. A column is of numbers, of dates or of words as its cells are; `.` is the decimal point
/// in every locale.
/// @throws InputMissing; DataError naming line and column for a ragged line, for a cell that is of another
/// kind than those above it or starts as a number and is none (thousands separators, decimal commas, numbers
/// out of range), for broken UTF-8 or quotes; for a file without rows, and for names that are empty or occur
/// twice.
Table read_table(const std::filesystem::path& path);
Table parse_table(std::string_view bytes, std::string_view name);

/// @throws ConfigError, headed by `where`, naming the columns that there are and the nearest one.
const Column& find_column(const Table& table, std::string_view name, std::string_view where);

/// The column with its numbers as categories ("0", "1", "2.5"), in ascending order of the numbers.
Column as_words(const Column& column);

enum class Missing { kRefuse, kDrop };
/// Rows in which none of the columns is missing.
/// @throws DataError under kRefuse naming line and column of the first missing cell; where no row is left.
std::vector<std::size_t> complete_rows(const Table& table, std::span<const Column* const> columns,
                                       Missing missing);

}  // namespace headtorch::table
