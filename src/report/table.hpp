#pragma once

#include <string>
#include <vector>

#include "src/report/text.hpp"

namespace headtorch::report {

/// A table for people. Cells are UTF-8; every row has as many cells as there are headers.
struct Table {
  std::vector<std::string> headers;
  std::vector<std::vector<std::string>> rows;
  std::vector<Align> align;  ///< one a column; empty: the first left, the others right
};

/// Aligned lines, each ending in a newline: headers, a rule, rows; two spaces between columns and none at
/// line ends. Widths count terminal columns; control characters are made visible.  @throws ShapeError for a
/// ragged table.
std::string to_text(const Table& table);

}  // namespace headtorch::report
