#pragma once

#include <string>
#include <variant>
#include <vector>

#include "src/report/canvas.hpp"
#include "src/report/matrix.hpp"
#include "src/report/plot.hpp"

// Plots and matrices in rows on one page.

namespace headtorch::report {

using Part = std::variant<Plot, Matrix>;

struct Panels {
  std::string title = {}, subtitle = {};
  std::vector<std::vector<Part>> rows = {};
  std::string text = {};  ///< paragraphs below, one a line; may be empty
};

/// Where the parts of a page lie.
struct PanelsLayout {
  std::vector<std::vector<Box>> data;   ///< of the parts' axes; of one size within a row
  std::vector<std::vector<Box>> slots;  ///< the same with all text around them; no two meet
  Extent size;
};

/// A row's parts are as wide as each other, and all rows as wide as the page. Where all plots have the same
/// legend it stands once on top, else under each. Long text is wrapped or cut.
/// @throws ShapeError for a matrix whose values, names or texts do not fit its size; ConfigError for a page
/// larger than a picture can be.
std::string draw_panels(const Panels& panels, Format format);
PanelsLayout layout_panels(const Panels& panels);

}  // namespace headtorch::report
