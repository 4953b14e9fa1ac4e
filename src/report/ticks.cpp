#include "src/report/ticks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "src/report/heatmap_style.hpp"
#include "src/report/text.hpp"

namespace headtorch::report {
namespace {

constexpr double kLargestFont = 11.0, kSmallestFont = 7.5, kThinnedFont = 9.0;
constexpr double kSideGap = 0.3;     // between labels written across, in fonts
constexpr double kThinnedGap = 1.2;  // lines a thinned label keeps for itself
constexpr std::int64_t kLongestLabel = 14;

/// Sizes of labels for a font of one point, measured once for equal labels.
class Sizes {
 public:
  Extent of(const std::string& label) {
    constexpr double kMeasured = 10.0;
    const auto [entry, is_new] = known_.try_emplace(label);
    if (is_new) {
      const Extent extent = measure(label, {.size = kMeasured});
      entry->second = {extent.width / kMeasured, extent.height / kMeasured};
    }
    return entry->second;
  }
  Extent largest(const std::vector<std::string>& labels) {
    Extent largest;
    for (const std::string& label : labels) {
      const Extent extent = of(label);
      largest = {std::max(largest.width, extent.width), std::max(largest.height, extent.height)};
    }
    return largest;
  }

 private:
  std::map<std::string, Extent> known_;
};

/// 2, 5, 10, 20, 50 ...: the first that is at least `wanted`.
std::int64_t round_step(double wanted) {
  for (std::int64_t power = 1;; power *= 10) {
    for (const std::int64_t step : {2 * power, 5 * power, 10 * power}) {
      if (static_cast<double>(step) >= wanted) {
        return step;
      }
    }
  }
}

}  // namespace

AxisTicks place_ticks(const std::vector<std::string>& tokens, double cell, Axis axis) {
  std::vector<std::string> labels;
  for (const std::string& token : tokens) {
    labels.push_back(fit(visible(token), kLongestLabel));
  }
  Sizes sizes;
  Extent largest = sizes.largest(labels);
  AxisTicks result;
  const double font_up = std::min(kLargestFont, cell / largest.height);
  const double font_across = std::min(kLargestFont, cell / (largest.width + kSideGap));
  if (axis == Axis::kKey && std::min(font_up, font_across) >= kSmallestFont) {
    result.font = std::min(font_up, font_across);
  } else if (font_up >= kSmallestFont) {
    result.font = font_up;
    result.writing = axis == Axis::kKey ? Writing::kUp : Writing::kAcross;
  } else {
    result.font = kThinnedFont;
    result.writing = axis == Axis::kKey ? Writing::kUp : Writing::kAcross;
    result.every = round_step(kThinnedGap * largest.height * result.font / cell);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      labels[i] = fmt::format("{}: {}", i, labels[i]);
    }
  }
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(labels.size()); i += result.every) {
    const std::string& label = labels[static_cast<std::size_t>(i)];
    const Extent extent = sizes.of(label);
    const bool along = axis == Axis::kKey && result.writing == Writing::kAcross;
    const double half = (along ? extent.width : extent.height) * result.font / 2;
    const double centre = (static_cast<double>(i) + 0.5) * cell;
    result.ticks.push_back({i, label, centre - half, centre + half});
    result.depth = std::max(result.depth, (along ? extent.height : extent.width) * result.font);
  }
  return result;
}

void draw_ticks(Canvas& canvas, const Box& data, const AxisTicks& ticks, Axis axis) {
  constexpr double kMark = 3;
  const TextStyle style{.size = ticks.font, .colour = kInk};
  for (const Tick& tick : ticks.ticks) {
    const double along = (tick.begin + tick.end) / 2;
    if (axis == Axis::kQuery) {
      const double y = data.y + along;
      canvas.text(tick.text, data.x - kTickGap, y, style, Anchor::kEnd);
      if (ticks.every > 1) canvas.line(data.x - kMark - 0.8, y, data.x - 0.8, y, kFrame, 0.8);
      continue;
    }
    const double x = data.x + along, y = data.bottom() + kTickGap;
    if (ticks.writing == Writing::kUp) {
      canvas.text(tick.text, x, y, style, Anchor::kEnd, ticks.writing);
    } else {
      canvas.text(tick.text, x, y + ticks.depth / 2, style, Anchor::kMiddle);
    }
    if (ticks.every > 1) canvas.line(x, data.bottom() + 0.8, x, data.bottom() + kMark + 0.8, kFrame, 0.8);
  }
}

}  // namespace headtorch::report
