#include "src/report/legend.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "src/report/heatmap_style.hpp"

namespace headtorch::report {
namespace {

constexpr double kLine = 17, kSample = 24, kGap = 6, kBetween = 16, kDot = 2.6, kBandWidth = 9;

/// Each label once.
Legend collected(const std::vector<Series>& series, double widest_label) {
  Legend legend;
  std::set<std::string> known;
  double widest = 0;
  for (const Series& entry : series) {
    if (entry.label.empty() || !known.insert(entry.label).second) continue;
    legend.entries.push_back(entry);
    std::string& label = legend.entries.back().label;
    label = cut(label, widest_label, kBarStyle);
    widest = std::max(widest, measure(label, kBarStyle).width);
  }
  legend.column_width = std::ceil(kSample + kGap + widest + kBetween);
  return legend;
}

void arrange(Legend& legend, std::size_t columns) {
  legend.rows = (legend.entries.size() + columns - 1) / columns;
  const std::size_t used = (legend.entries.size() + legend.rows - 1) / legend.rows;
  legend.size = {legend.column_width * static_cast<double>(used) - kBetween,
                 kLine * static_cast<double>(legend.rows)};
}

}  // namespace

Legend layout_legend(const std::vector<Series>& series, double height) {
  Legend legend = collected(series, INFINITY);
  if (legend.entries.empty()) return legend;
  const auto fitting = static_cast<std::size_t>(std::max(1.0, std::floor(height / kLine)));
  arrange(legend, (legend.entries.size() + fitting - 1) / fitting);
  return legend;
}

Legend layout_legend_across(const std::vector<Series>& series, double width) {
  Legend legend = collected(series, width - kSample - kGap);
  if (legend.entries.empty()) return legend;
  const double columns = std::floor((width + kBetween) / legend.column_width);
  arrange(legend, std::clamp<std::size_t>(static_cast<std::size_t>(columns), 1, legend.entries.size()));
  return legend;
}

std::vector<Series> legend_entries(const Plot& plot) {
  std::vector<Series> entries = plot.series;
  for (const Band& band : plot.bands)
    entries.push_back({.label = band.label, .colour = band.colour, .width = kBandWidth});
  std::erase_if(entries, [](const Series& entry) { return entry.label.empty(); });
  for (Series& entry : entries) entry.x = entry.y = {};
  return entries;
}

void draw_legend(Canvas& canvas, const Legend& legend, double x, double y) {
  for (std::size_t i = 0; i < legend.entries.size(); ++i) {
    const Series& entry = legend.entries[i];
    const double left = x + legend.column_width * static_cast<double>(i / legend.rows);
    const double middle = y + kLine * (static_cast<double>(i % legend.rows) + 0.5);
    const std::array<Point, 2> sample = {{{left, middle}, {left + kSample, middle}}};
    if (entry.width > 0) canvas.path(sample, entry.colour, entry.width, entry.dash);
    if (entry.has_points || entry.width == 0) canvas.disc({left + kSample / 2, middle}, kDot, entry.colour);
    canvas.text(entry.label, left + kSample + kGap, middle, kBarStyle);
  }
}

}  // namespace headtorch::report
