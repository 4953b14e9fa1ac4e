#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/core/attention_maps.hpp"
#include "src/report/canvas.hpp"
#include "src/report/colour_map.hpp"
#include "src/report/maps.hpp"
#include "src/report/ticks.hpp"

namespace headtorch::report {

struct HeatmapRequest {
  std::int64_t layer = 0;                 ///< in AttentionMaps::layers
  std::optional<std::int64_t> head = {};  ///< absent: all heads of the layer, in a grid
  std::int64_t sample = 0;
  ColorRange color_range = ColorRange::kUnit;
  Format format = Format::kPng;
};

/// The picture as the bytes of a file. Rows are queries (down), columns are keys (across), both labelled with
/// their tokens; titled with task, layer, head, step, sample, sizes, entropy; rows that see nothing are
/// hatched grey and counted, cells that are no numbers red. Each cell is a square of whole pixels, not
/// smoothed. Equal input gives equal bytes on a machine. @throws as `select`, `measure` and `Canvas`.
std::string draw_heatmap(const AttentionMaps& maps, const HeatmapRequest& request);

/// Pixels of a PNG to a point of the layout.
inline constexpr int kDensity = 2;

/// Where one head is drawn, in points.
struct Panel {
  Selection selection;
  HeadSummary summary;
  Box data = {};                        ///< the cells
  std::vector<std::string> lines = {};  ///< above the cells; the first is bold when there are several heads
};

struct HeatmapLayout {
  Extent size;
  double cell = 0;  ///< points, a whole number
  std::string title, subtitle;
  std::vector<Panel> panels;
  AxisTicks query_ticks, key_ticks;                        ///< the same for all panels
  Box bar;                                                 ///< colour bar, place 1 at the top
  std::vector<std::pair<double, std::string>> bar_labels;  ///< place 0..1 on the bar, and its text
  double bar_labels_width = 0;
};
HeatmapLayout layout_heatmap(const AttentionMaps& maps, const HeatmapRequest& request);

/// The cells of a panel with their axes; `maps` must hold what the panel selects.
void draw_panel(Canvas& canvas, const AttentionMaps& maps, const Panel& panel, const HeatmapLayout& layout,
                ColorRange range);
void draw_bar(Canvas& canvas, const HeatmapLayout& layout, ColorRange range);

}  // namespace headtorch::report
