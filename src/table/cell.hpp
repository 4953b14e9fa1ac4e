#pragma once

#include <string>
#include <string_view>

namespace headtorch::table {

enum class CellKind {
  kMissing,
  kNumber,
  kDate,
  kWord,
  kBroken,  ///< starts as a number, or is infinite, and is neither number nor date
};

struct Cell {
  CellKind kind = CellKind::kMissing;
  double number = 0.0;  ///< or days since 1970-01-01
};

/// What a cell is, in every locale alike. `text` has no blanks around it.
Cell read_cell(std::string_view text);

/// What is wrong with a cell of kBroken and what was expected: `"3,14" has a decimal comma, expected 3.14`.
std::string complaint(std::string_view text);

/// YYYY-MM-DD.
std::string date_text(double days);

std::string_view trimmed(std::string_view text);

}  // namespace headtorch::table
