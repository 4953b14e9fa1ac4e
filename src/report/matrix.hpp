#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/report/plot.hpp"

namespace headtorch::report {

/// Cells of numbers, row 0 on top. NaN is hatched. With more rows or columns than the picture has pixels,
/// neighbours share a cell, the largest of them counts, and a line says so.
struct Matrix {
  std::string title = {}, x_title = {}, y_title = {}, bar_title = {};
  std::int64_t rows = 0, columns = 0;
  std::vector<double> values = {};                             ///< row-major
  std::vector<std::string> row_names = {}, column_names = {};  ///< one a row or column, or none
  std::optional<AxisRange> x_range = {}, y_range = {};  ///< in place of names: what the edges stand for; low
                                                        ///< is on the left, on top
  std::vector<AxisMark> column_marks = {};   ///< in place of both: texts at so many columns from the left;
                                             ///< those that would touch are left out
  std::optional<AxisRange> range = {};       ///< of the colours; absent: of the values
  std::vector<std::string> cell_texts = {};  ///< one a cell, or none; left out where cells are small
};

/// @throws ShapeError unless values, names and texts are as many as rows and columns say.
Room room_around(const Matrix& matrix, const Extent& data);
/// Draws into `data` (in a PNG on whole pixels), its text and colour bar around it.
void draw_matrix(Canvas& canvas, const Box& data, const Matrix& matrix);

}  // namespace headtorch::report
