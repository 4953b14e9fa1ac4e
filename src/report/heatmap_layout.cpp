#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/report/heatmap.hpp"
#include "src/report/heatmap_style.hpp"
#include "src/report/text.hpp"

namespace headtorch::report {
namespace {

/// Points along the longer side of one head's cells, by the number of heads.
double target_side(std::int64_t n_heads) {
  return n_heads == 1 ? 640 : n_heads == 2 ? 480 : n_heads <= 4 ? 400 : 320;
}

double cell_side(const LayerWeights& layer, std::int64_t n_heads) {
  constexpr double kLargestCell = 30;
  const auto longer = static_cast<double>(std::max(layer.queries, layer.keys));
  return std::clamp(std::floor(target_side(n_heads) / longer), 1.0, kLargestCell);
}

/// "3, 7, 8, 9 and 4 more".
std::string listed(const std::vector<std::int64_t>& rows) {
  constexpr std::size_t kShown = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(rows.size(), kShown); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", rows[i]);
  }
  return rows.size() > kShown ? fmt::format("{} and {} more", text, rows.size() - kShown) : text;
}

std::vector<std::string> panel_lines(const Panel& panel, const HeatmapRequest& request) {
  const HeadSummary& summary = panel.summary;
  std::vector<std::string> lines;
  if (!request.head) {
    lines.push_back(fmt::format("head {}", panel.selection.head));
  }
  std::string numbers = fmt::format("entropy {} nats", readable(summary.entropy, 3));
  if (request.color_range == ColorRange::kHead) {
    numbers += fmt::format(", largest weight {}", readable(summary.largest, 3));
  }
  lines.push_back(numbers);
  if (!summary.blind.empty()) {
    lines.push_back(
        fmt::format("{} nothing (grey): {}",
                    counted(static_cast<std::int64_t>(summary.blind.size()), "row sees", "rows see"),
                    listed(summary.blind)));
  }
  if (summary.not_numbers > 0) {
    lines.push_back(
        counted(summary.not_numbers, "cell is not a number (red)", "cells are not numbers (red)"));
  }
  if (summary.outside > 0) {
    lines.push_back(counted(summary.outside, "cell is outside 0 to 1", "cells are outside 0 to 1"));
  }
  return lines;
}

std::vector<std::pair<double, std::string>> bar_labels(const HeatmapLayout& layout,
                                                       const HeatmapRequest& request) {
  switch (request.color_range) {
    case ColorRange::kLog:
      return {{0, "≤ 0.0001"}, {0.25, "0.001"}, {0.5, "0.01"}, {0.75, "0.1"}, {1, "1"}};
    case ColorRange::kHead:
      if (!request.head) {
        return {{0, "0"}, {1, "largest"}};
      }
      {
        const double largest = layout.panels.front().summary.largest;
        return {{0, "0"}, {0.5, readable(largest / 2, 3)}, {1, readable(largest, 3)}};
      }
    case ColorRange::kUnit:
      break;
  }
  return {{0, "0"}, {0.25, "0.25"}, {0.5, "0.5"}, {0.75, "0.75"}, {1, "1"}};
}

/// Columns of the grid: the shape nearest to a wide page, with few empty places.
std::int64_t grid_columns(std::int64_t n, Extent slot) {
  constexpr double kWide = 1.6, kEmptyCost = 1.5;
  std::int64_t best = 1;
  double best_cost = INFINITY;
  for (std::int64_t columns = 1; columns <= n; ++columns) {
    const std::int64_t rows = (n + columns - 1) / columns;
    const double shape =
        static_cast<double>(columns) * slot.width / (static_cast<double>(rows) * slot.height);
    const double empty = static_cast<double>(rows * columns - n) / static_cast<double>(n);
    const double cost = std::abs(std::log(shape / kWide)) + kEmptyCost * empty;
    if (cost < best_cost) {
      best = columns;
      best_cost = cost;
    }
  }
  return best;
}

}  // namespace

HeatmapLayout layout_heatmap(const AttentionMaps& maps, const HeatmapRequest& request) {
  Selection selection{.layer = request.layer, .head = request.head.value_or(0), .sample = request.sample};
  const LayerWeights& layer = select(maps, selection);
  const std::int64_t n = request.head ? 1 : layer.heads;
  HeatmapLayout layout;
  layout.cell = cell_side(layer, n);
  const AxisTokens tokens = axis_tokens(maps, selection);
  layout.query_ticks = place_ticks(tokens.query, layout.cell, Axis::kQuery);
  layout.key_ticks = place_ticks(tokens.key, layout.cell, Axis::kKey);
  layout.title = fmt::format("{} · {}{}", visible(maps.task), layer_title(layer.stack, layer.layer),
                             request.head ? fmt::format(" · head {}", *request.head) : "");
  layout.subtitle = fmt::format("step {} · sample {} · {} × {}", maps.step, request.sample,
                                counted(layer.queries, "query", "queries"), counted(layer.keys, "key"));

  std::size_t most_lines = 0;
  double lines_width = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    selection.head = request.head.value_or(i);
    Panel panel{
        .selection = selection,
        .summary = summarise(layer.head(selection.sample, selection.head), layer.queries, layer.keys)};
    panel.lines = panel_lines(panel, request);
    most_lines = std::max(most_lines, panel.lines.size());
    for (const std::string& line : panel.lines) {
      lines_width = std::max(lines_width, measure(line, kPanelStyle).width);
    }
    layout.panels.push_back(std::move(panel));
  }

  const double left = std::ceil(layout.query_ticks.depth) + kTickGap + kAxisTitle;
  const double below = std::ceil(layout.key_ticks.depth) + kTickGap + kAxisTitle;
  const double above = static_cast<double>(most_lines) * kPanelLine + kPanelGap;
  const Extent data{static_cast<double>(layer.keys) * layout.cell,
                    static_cast<double>(layer.queries) * layout.cell};
  const double data_slot = std::ceil(std::max(data.width, lines_width));
  const Extent slot{left + data_slot + kSlotGap, above + data.height + below + kSlotGap};
  const std::int64_t columns = grid_columns(n, slot);
  const std::int64_t rows = (n + columns - 1) / columns;
  const double top = kMargin + kTitleHeight;
  for (std::int64_t i = 0; i < n; ++i) {
    layout.panels[static_cast<std::size_t>(i)].data = {
        kMargin + static_cast<double>(i % columns) * slot.width + left,
        top + static_cast<double>(i / columns) * slot.height + above, data.width, data.height};
  }
  constexpr double kShortestBar = 120, kLongestBar = 400;
  layout.bar = {kMargin + static_cast<double>(columns) * slot.width, top + above, kBarWidth,
                std::clamp(data.height, kShortestBar, kLongestBar)};
  layout.bar_labels = bar_labels(layout, request);
  for (const auto& [place, text] : layout.bar_labels) {
    layout.bar_labels_width = std::max(layout.bar_labels_width, measure(text, kBarStyle).width);
  }
  layout.size.width = std::max({layout.bar.right() + kBarMark + layout.bar_labels_width + kBarTitle,
                                kMargin + measure(layout.title, kTitleStyle).width,
                                kMargin + measure(layout.subtitle, kSubtitleStyle).width}) +
                      kMargin;
  const double panels_end = top + static_cast<double>(rows) * slot.height - kSlotGap;
  layout.size.height = std::max(panels_end, layout.bar.bottom() + kPanelLine) + kMargin;
  layout.size = {std::ceil(layout.size.width), std::ceil(layout.size.height)};
  return layout;
}

}  // namespace headtorch::report
