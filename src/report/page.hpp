#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "src/core/attention_maps.hpp"
#include "src/core/head_place.hpp"
#include "src/report/colour_map.hpp"

namespace headtorch::report {

/// A number with what is known about it; NaN where unknown.
struct PageScore {
  double value = std::numeric_limits<double>::quiet_NaN();
  double low = std::numeric_limits<double>::quiet_NaN(), high = std::numeric_limits<double>::quiet_NaN();
  std::int64_t rows = 0;
  double chance = std::numeric_limits<double>::quiet_NaN();
};

using PageCell = std::variant<std::string, double, PageScore>;

struct PageRow {
  std::vector<PageCell> cells;
  std::optional<HeadPlace> head = {};  ///< what a click on the row shows
};

struct PageTable {
  std::string name;
  std::string text = {};  ///< above the table
  std::vector<std::string> columns = {};
  std::vector<PageRow> rows = {};  ///< each as long as `columns`
};

struct PageLine {
  std::string name;
  std::vector<std::pair<double, double>> points;  ///< (step, value), steps ascending
};

struct PageCurve {
  std::string name, unit;
  std::vector<PageLine> lines;
};

struct PageSentence {
  HeadPlace head;
  std::string text;
};

struct PageFinding {
  std::string cause, sign, remedy;
};

/// What is shown first; what is not there is brought to the nearest that is.
struct PageStart {
  HeadPlace head = {0, 0};
  std::int64_t sample = 0;
  ColorRange color_range = ColorRange::kUnit;
};

/// All that a report shows. What is empty is left out.
struct Page {
  std::string title, subtitle;
  std::vector<AttentionMaps> maps;       ///< steps ascending; layers and heads the same in all
  std::optional<AttentionMaps> kernels;  ///< fitted kernels, of the shape of the last of `maps`
  std::vector<PageSentence> sentences;
  std::vector<PageFinding> findings;
  std::optional<PageTable> scores, compare, settings;
  std::vector<PageCurve> curves;
  PageStart start;
  std::vector<std::string> notes;  ///< for the foot of the page
};

/// One HTML file that opens offline and asks for nothing (docs/report_page.md). Weights are stored in 8 bits,
/// within 1/255; what does not fit into 5 MB is left out or thinned by the rule of page_maps.hpp, and the
/// page says so.  @throws ShapeError when maps, kernels or tables do not fit together.
std::string page(const Page& contents);

}  // namespace headtorch::report
