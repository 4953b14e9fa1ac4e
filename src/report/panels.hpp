#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "src/report/canvas.hpp"
#include "src/report/plot.hpp"

// Plots and matrices in rows on one page.

namespace headtorch::report {

/// Cells of numbers, row 0 on top. NaN is hatched.
struct Matrix {
  std::string title = {}, x_title = {}, y_title = {}, bar_title = {};
  std::int64_t rows = 0, columns = 0;
  std::vector<double> values = {};                             ///< row-major
  std::vector<std::string> row_names = {}, column_names = {};  ///< one a row or column, or none
  std::optional<AxisRange> x_range = {}, y_range = {};  ///< in place of names: what the edges stand for
  std::optional<AxisRange> range = {};                  ///< of the colours; absent: of the values
  std::vector<std::string> cell_texts = {};             ///< one a cell, or none
};

using Part = std::variant<Plot, Matrix>;

struct Panels {
  std::string title = {}, subtitle = {};
  std::vector<std::vector<Part>> rows = {};
  std::string text = {};  ///< a paragraph below; may be empty
};

std::string draw_panels(const Panels& panels, Format format);

}  // namespace headtorch::report
