#pragma once

#include <vector>

#include "src/report/plot.hpp"

namespace headtorch::report {

/// The labels of a legend one below the other, `columns` beside each other.
struct Legend {
  std::vector<Series> entries;  ///< only look and label count
  double column_width = 0;
  std::size_t rows = 0;
  Extent size = {};
};
/// As many columns as it takes to stay below `height`; each label once.
Legend layout_legend(const std::vector<Series>& series, double height);
/// As many columns as fit into `width`; longer labels are cut.
Legend layout_legend_across(const std::vector<Series>& series, double width);
/// Entries for all that has a label in a plot.
std::vector<Series> legend_entries(const Plot& plot);
void draw_legend(Canvas& canvas, const Legend& legend, double x, double y);

}  // namespace headtorch::report
