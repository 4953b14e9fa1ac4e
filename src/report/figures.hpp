#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/core/attention_maps.hpp"
#include "src/probe/verdict.hpp"
#include "src/report/heatmap.hpp"
#include "src/report/plot.hpp"

// Figures of several parts, as the bytes of a file. Equal input gives equal bytes on a machine. Text from
// outside is made visible and cut where it would not fit.

namespace headtorch::report {

/// A head's weights beside those of its nearest kernel, and the sentence that says how near.
struct KernelPair {
  Panel learned, fitted;
  std::vector<std::string> sentence;  ///< in lines
};
struct KernelsLayout {
  HeatmapLayout page;  ///< its panels are not used
  std::vector<KernelPair> pairs;
};

/// All heads of a layer, each beside its nearest fixed kernel, on one scale (under ColorRange::kHead the
/// largest of each pair).  @param fitted as `maps`, with the kernels' weights.  @param sentences one a head;
/// fewer leave heads without.
/// @throws as `draw_heatmap`; ShapeError where sizes of both differ.
std::string draw_kernels(const AttentionMaps& maps, const AttentionMaps& fitted,
                         const std::vector<std::string>& sentences, const HeatmapRequest& request);
KernelsLayout layout_kernels(const AttentionMaps& maps, const AttentionMaps& fitted,
                             const std::vector<std::string>& sentences, const HeatmapRequest& request);

struct ImageRequest {
  std::int64_t layer = 0;  ///< in AttentionMaps::layers
  std::int64_t sample = 0;
  Format format = Format::kPng;
};
/// For a layer whose keys are patches of an image: the image, grey, with the weights of one query of one head
/// in colour over its patches, a panel for each head and query (the first 12; queries that are patches
/// themselves are left out, or averaged when there are no others). One scale for all, from 0 to the largest;
/// each panel's strongest patch is framed. Says how much weight lies on the image where that is not all.
/// @throws as `select`; ConfigError where keys are no patches, ShapeError where pixels or keys do not fit
/// them.
std::string draw_image_maps(const AttentionMaps& maps, const ImageRequest& request);

/// One number of one head over training; NaN where it is not known.
struct HeadHistory {
  HeadPlace head = {};
  std::vector<double> values = {};  ///< at History::steps
};
/// One number of all heads.
struct ScoreHistory {
  std::string name = {};  ///< "previous token", "bandwidth"
  std::vector<HeadHistory> heads = {};
  std::optional<AxisRange> range = {};  ///< absent: around the values
};
struct History {
  std::string title = {};
  std::vector<double> loss_steps = {}, loss = {};
  std::vector<double> steps = {};  ///< at which heads were looked at
  std::vector<ScoreHistory> scores = {};
};
/// The loss on top, a plot for each number below, all on the same steps. Colour tells heads apart, dashes
/// layers; with more than seven heads, or in an encoder-decoder, both together tell up to 28 lines apart.
/// @throws ShapeError where steps and values differ in number.
std::string draw_history(const History& history, Format format);

struct ComparisonFigure {
  std::string title = {};    ///< "reverse: token accuracy, 4 seeds after 700 steps"
  std::string verdict = {};  ///< a paragraph below; may be empty
  Format format = Format::kPng;
};
/// One line a row: each seed's value, their mean and its 95 % interval (below 4 seeds: the range). Dashed
/// lines: the mean of no mixing (chance) and the best possible. A row without a number says so.
std::string draw_comparison(const std::vector<probe::ComparisonRow>& rows,
                            const probe::ComparisonMetric& metric, const ComparisonFigure& figure);

/// One plot with its legend.
std::string draw_curve(const Plot& plot, Format format);

}  // namespace headtorch::report
