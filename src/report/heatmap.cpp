#include "src/report/heatmap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/report/heatmap_style.hpp"
#include "src/report/text.hpp"

namespace headtorch::report {
namespace {

constexpr double kSmallestHatched = 5;  // points; smaller cells are plain grey

void draw_cells(Canvas& canvas, const AttentionMaps& maps, const Panel& panel, double cell,
                ColorRange range) {
  const LayerWeights& layer = select(maps, panel.selection);
  const auto weights = layer.head(panel.selection.sample, panel.selection.head);
  std::vector<Rgb> colours(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    colours[i] = std::isfinite(weights[i]) ? viridis(bar_place(weights[i], range, panel.summary.largest))
                                           : kNotANumber;
  }
  for (const std::int64_t row : panel.summary.blind) {
    std::fill_n(colours.begin() + row * layer.keys, layer.keys, kSeesNothing);
  }
  canvas.cells(panel.data, layer.queries, layer.keys, colours);
  if (cell >= kSmallestHatched) {
    for (const std::int64_t row : panel.summary.blind) {
      canvas.hatch({panel.data.x, panel.data.y + static_cast<double>(row) * cell, panel.data.width, cell},
                   kFrame);
    }
  }
  canvas.frame(panel.data, kFrame, 0.8);
}

void draw_axes(Canvas& canvas, const Box& data, const AxisTicks& query, const AxisTicks& key) {
  draw_ticks(canvas, data, query, Axis::kQuery);
  draw_ticks(canvas, data, key, Axis::kKey);
  canvas.text("query", data.x - kTickGap - std::ceil(query.depth) - kAxisTitle / 2, data.y + data.height / 2,
              kAxisStyle, Anchor::kMiddle, Writing::kUp);
  canvas.text("key", data.x + data.width / 2,
              data.bottom() + kTickGap + std::ceil(key.depth) + kAxisTitle / 2, kAxisStyle, Anchor::kMiddle);
}

void draw_panel_lines(Canvas& canvas, const Panel& panel, bool first_is_bold) {
  double y = panel.data.y - kPanelGap - kPanelLine * (static_cast<double>(panel.lines.size()) - 0.5);
  for (std::size_t i = 0; i < panel.lines.size(); ++i) {
    canvas.text(panel.lines[i], panel.data.x, y, i == 0 && first_is_bold ? kHeadStyle : kPanelStyle);
    y += kPanelLine;
  }
}

}  // namespace

void draw_panel(Canvas& canvas, const AttentionMaps& maps, const Panel& panel, const HeatmapLayout& layout,
                ColorRange range) {
  draw_cells(canvas, maps, panel, layout.cell, range);
  draw_axes(canvas, panel.data, layout.query_ticks, layout.key_ticks);
}

void draw_bar(Canvas& canvas, const HeatmapLayout& layout, ColorRange range) {
  constexpr int kSteps = 128;
  std::vector<Rgb> colours;
  for (int i = 0; i < kSteps; ++i) {
    colours.push_back(viridis(1.0 - i / (kSteps - 1.0)));
  }
  const Box& bar = layout.bar;
  canvas.cells(bar, kSteps, 1, colours);
  canvas.frame(bar, kFrame, 0.8);
  for (const auto& [place, text] : layout.bar_labels) {
    const double y = bar.bottom() - place * bar.height;
    canvas.line(bar.right() + 0.8, y, bar.right() + kBarMark, y, kFrame, 0.8);
    canvas.text(text, bar.right() + kBarMark + 3, y, kBarStyle);
  }
  const char* title = range == ColorRange::kLog ? "attention weight, log scale" : "attention weight";
  canvas.text(title, bar.right() + kBarMark + layout.bar_labels_width + kBarTitle / 2, bar.y + bar.height / 2,
              kBarStyle, Anchor::kMiddle, Writing::kUp);
}

std::string draw_heatmap(const AttentionMaps& maps, const HeatmapRequest& request) {
  const HeatmapLayout layout = layout_heatmap(maps, request);
  Canvas canvas(request.format, layout.size, kDensity);
  canvas.text(layout.title, kMargin, kMargin + 9, kTitleStyle);
  canvas.text(layout.subtitle, kMargin, kMargin + 29, kSubtitleStyle);
  for (const Panel& panel : layout.panels) {
    draw_panel_lines(canvas, panel, !request.head);
    draw_panel(canvas, maps, panel, layout, request.color_range);
  }
  draw_bar(canvas, layout, request.color_range);
  return canvas.finish();
}

}  // namespace headtorch::report
