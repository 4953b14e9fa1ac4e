#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/core/error.hpp"
#include "src/report/figures.hpp"
#include "src/report/heatmap_style.hpp"

namespace headtorch::report {
namespace {

constexpr double kPairGap = 8;   // between the two of a pair
constexpr double kCaption = 15;  // "learned", "nearest kernel"
constexpr TextStyle kSentenceStyle{11.5, Weight::kBold, kInk};

double column_width(std::int64_t columns, double pair_width) {
  return static_cast<double>(columns) * pair_width + static_cast<double>(columns - 1) * kSlotGap;
}

/// Pairs beside each other: as many as make the page about as wide as high.
std::int64_t pair_columns(std::int64_t pairs, const Extent& pair) {
  std::int64_t columns = 1;
  while (columns < pairs) {
    const std::int64_t rows = (pairs + columns - 1) / columns;
    if (column_width(columns, pair.width) >= static_cast<double>(rows) * pair.height) break;
    ++columns;
  }
  return columns;
}

void check_sizes(const AttentionMaps& maps, const AttentionMaps& fitted, const HeatmapRequest& request) {
  const Selection selection{request.layer, 0, request.sample};
  const LayerWeights& a = select(maps, selection);
  const LayerWeights& b = select(fitted, selection);
  if (a.heads != b.heads || a.queries != b.queries || a.keys != b.keys) {
    throw ShapeError("kernels", fmt::format("kernels of {} x {} x {}, expected {} x {} x {} as the weights",
                                            b.heads, b.queries, b.keys, a.heads, a.queries, a.keys));
  }
}

}  // namespace

KernelsLayout layout_kernels(const AttentionMaps& maps, const AttentionMaps& fitted,
                             const std::vector<std::string>& sentences, const HeatmapRequest& request) {
  check_sizes(maps, fitted, request);
  KernelsLayout layout{
      .page = layout_heatmap(
          maps, {.layer = request.layer, .sample = request.sample, .color_range = request.color_range}),
      .pairs = {}};
  HeatmapLayout& page = layout.page;
  page.title += " · weights beside their nearest fixed kernels";
  const Extent data{page.panels.front().data.width, page.panels.front().data.height};
  const double left = std::ceil(page.query_ticks.depth) + kTickGap + kAxisTitle;
  const double below = std::ceil(page.key_ticks.depth) + kTickGap + kAxisTitle;
  const double narrowest = measure("nearest kernel", kPanelStyle).width;
  const double half = left + std::ceil(std::max(data.width, narrowest));
  const double pair_width = 2 * half + kPairGap;

  std::size_t most_lines = 0;
  for (const Panel& panel : page.panels) {
    KernelPair pair{.learned = panel, .fitted = panel, .sentence = {}};
    const LayerWeights& kernel = select(fitted, panel.selection);
    pair.fitted.summary =
        summarise(kernel.head(panel.selection.sample, panel.selection.head), kernel.queries, kernel.keys);
    const double largest = std::max(pair.learned.summary.largest, pair.fitted.summary.largest);
    pair.learned.summary.largest = pair.fitted.summary.largest = largest;
    const auto head = static_cast<std::size_t>(panel.selection.head);
    pair.sentence = wrapped(head < sentences.size() ? sentences[head] : fmt::format("head {}", head),
                            pair_width, kSentenceStyle);
    most_lines = std::max(most_lines, pair.sentence.size());
    layout.pairs.push_back(std::move(pair));
  }

  const double above = static_cast<double>(most_lines) * kPanelLine + kCaption + kPanelGap;
  const Extent pair{pair_width, above + data.height + below + kSlotGap};
  const auto n = static_cast<std::int64_t>(layout.pairs.size());
  const std::int64_t columns = pair_columns(n, pair);
  const double top = kMargin + kTitleHeight;
  for (std::int64_t i = 0; i < n; ++i) {
    const double x = kMargin + static_cast<double>(i % columns) * (pair.width + kSlotGap) + left;
    const double y = top + static_cast<double>(i / columns) * pair.height + above;
    KernelPair& placed = layout.pairs[static_cast<std::size_t>(i)];
    placed.learned.data = {x, y, data.width, data.height};
    placed.fitted.data = {x + half + kPairGap, y, data.width, data.height};
  }
  page.bar.x = kMargin + column_width(columns, pair.width) + kSlotGap;
  page.bar.y = top + above;
  page.panels.clear();
  const double pairs_end = top + static_cast<double>((n + columns - 1) / columns) * pair.height - kSlotGap;
  page.size = {std::ceil(std::max({page.bar.right() + kBarMark + page.bar_labels_width + kBarTitle,
                                   kMargin + measure(page.title, kTitleStyle).width}) +
                         kMargin),
               std::ceil(std::max(pairs_end, page.bar.bottom() + kPanelLine) + kMargin)};
  return layout;
}

std::string draw_kernels(const AttentionMaps& maps, const AttentionMaps& fitted,
                         const std::vector<std::string>& sentences, const HeatmapRequest& request) {
  const KernelsLayout layout = layout_kernels(maps, fitted, sentences, request);
  Canvas canvas(request.format, layout.page.size, kDensity);
  canvas.text(layout.page.title, kMargin, kMargin + 9, kTitleStyle);
  canvas.text(layout.page.subtitle, kMargin, kMargin + 29, kSubtitleStyle);
  for (const KernelPair& pair : layout.pairs) {
    const Box& data = pair.learned.data;
    double y = data.y - kPanelGap - kCaption / 2;
    canvas.text("learned", data.x, y, kPanelStyle);
    canvas.text("nearest kernel", pair.fitted.data.x, y, kPanelStyle);
    for (auto line = pair.sentence.rbegin(); line != pair.sentence.rend(); ++line) {
      y -= kPanelLine;
      canvas.text(*line, data.x, y, kSentenceStyle);
    }
    draw_panel(canvas, maps, pair.learned, layout.page, request.color_range);
    draw_panel(canvas, fitted, pair.fitted, layout.page, request.color_range);
  }
  draw_bar(canvas, layout.page, request.color_range);
  return canvas.finish();
}

}  // namespace headtorch::report
