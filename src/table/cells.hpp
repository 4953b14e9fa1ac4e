#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace headtorch::table {

/// The cells of a CSV file, row by row, all rows equally wide; a header is row 0.
struct Cells {
  std::size_t width = 0;
  std::vector<std::string_view> all;  ///< [rows, width] without quotes and the blanks around them
  std::vector<std::int64_t> lines;    ///< the line each row starts in, from 1
  std::deque<std::string> unquoted;   ///< holds the cells that differ from the file's bytes

  std::size_t rows() const { return lines.size(); }
  std::string_view at(std::size_t row, std::size_t column) const { return all[row * width + column]; }
};

/// `bytes` must outlive the result.  @throws DataError, headed by `name`, for broken UTF-8, a byte 0, a quote
/// out of place or never closed, and a line with another number of cells than the first.
Cells split_cells(std::string_view bytes, std::string_view name);

}  // namespace headtorch::table
