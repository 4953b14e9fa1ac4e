#include "src/report/terminal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "src/core/error.hpp"
#include "src/report/maps.hpp"
#include "src/report/text.hpp"

namespace headtorch::report {
namespace {

constexpr std::int64_t kMinColumns = 20, kMaxLines = 48, kMaxLabel = 8, kGap = 3, kTitleColumns = 18;
constexpr std::string_view kRamp = " .:-=+*#%@";
constexpr char kBlindMark = '/', kNotANumberMark = '?';

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// How a head is laid on the character grid.
struct Grid {
  std::int64_t fold = 1;           ///< weights along each side of the square that a mark stands for
  std::int64_t mark_columns = 2;   ///< characters a mark is wide
  std::int64_t rows_per_line = 1;  ///< 2: half blocks
  std::int64_t label_columns = 0;
  std::int64_t rows = 0, columns = 0;  ///< marks
};

struct Mark {
  double place = 0.0;  ///< on the colour bar; NaN for not a number
  bool zero = true, blind = false;
};

/// A line and its width without escape sequences.
struct Line {
  std::string text;
  std::int64_t width = 0;
  void add(std::string_view part) {
    text += part;
    width += display_width(part);
  }
};

std::vector<std::string> shown(const std::vector<std::string>& tokens, std::int64_t fold) {
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < tokens.size(); i += static_cast<std::size_t>(fold)) {
    labels.push_back(fold == 1 ? fit(visible(tokens[i]), kMaxLabel) : fmt::format("{}", i));
  }
  return labels;
}

std::int64_t widest(const std::vector<std::string>& labels) {
  std::int64_t width = 0;
  for (const std::string& label : labels) {
    width = std::max(width, display_width(label));
  }
  return width;
}

Grid plan(const AxisTokens& tokens, std::int64_t n_heads, const TerminalRequest& request) {
  const auto queries = static_cast<std::int64_t>(tokens.query.size());
  const auto keys = static_cast<std::int64_t>(tokens.key.size());
  Grid grid;
  grid.label_columns = widest(shown(tokens.query, 1)) + 1;
  const std::int64_t room = request.columns - grid.label_columns;
  // Several heads stay narrow, so that they can stand side by side.
  const std::int64_t wanted =
      n_heads > 1 ? 2 : std::clamp<std::int64_t>(widest(shown(tokens.key, 1)) + 1, 2, 4);
  grid.mark_columns = std::min(wanted, room / keys);
  if (grid.mark_columns < 2 || queries > kMaxLines) {
    const bool half_blocks = request.colour == TerminalColour::kTrueColour;
    grid.mark_columns = half_blocks ? 1 : 2;
    grid.rows_per_line = half_blocks ? 2 : 1;
    const std::int64_t digits = static_cast<std::int64_t>(fmt::formatted_size("{}", std::max(queries, keys)));
    const auto fits = [&](std::int64_t fold) {
      grid.label_columns = fold == 1 ? grid.label_columns : digits + 1;
      return divide_up(keys, fold) * grid.mark_columns <= request.columns - grid.label_columns &&
             divide_up(queries, fold) <= kMaxLines * grid.rows_per_line;
    };
    while (!fits(grid.fold)) {
      ++grid.fold;
    }
  }
  grid.rows = divide_up(queries, grid.fold);
  grid.columns = divide_up(keys, grid.fold);
  return grid;
}

std::vector<Mark> marks_of(const LayerWeights& layer, std::span<const float> weights,
                           const HeadSummary& summary, const Grid& grid, ColorRange range) {
  std::vector<Mark> marks(static_cast<std::size_t>(grid.rows * grid.columns), {0.0, true, true});
  for (std::int64_t i = 0; i < layer.queries; ++i) {
    const bool blind = std::ranges::binary_search(summary.blind, i);
    for (std::int64_t j = 0; j < layer.keys; ++j) {
      Mark& mark = marks[static_cast<std::size_t>(i / grid.fold * grid.columns + j / grid.fold)];
      const double w = weights[static_cast<std::size_t>(i * layer.keys + j)];
      mark.blind = mark.blind && blind;
      mark.zero = mark.zero && w == 0.0;
      const double place = std::isfinite(w) ? bar_place(w, range, summary.largest) : std::nan("");
      mark.place = std::isnan(place) || std::isnan(mark.place) ? std::nan("") : std::max(mark.place, place);
    }
  }
  return marks;
}

Rgb colour_of(const Mark& mark) {
  return mark.blind ? kSeesNothing : std::isnan(mark.place) ? kNotANumber : viridis(mark.place);
}

char character_of(const Mark& mark) {
  if (mark.blind) {
    return kBlindMark;
  }
  if (std::isnan(mark.place)) {
    return kNotANumberMark;
  }
  // Only a weight of exactly zero (hidden) stays blank.
  const auto steps = static_cast<double>(kRamp.size() - 1);
  const auto level = std::min(std::floor(mark.place * steps) + 1.0, steps);
  return mark.zero ? kRamp.front() : kRamp[static_cast<std::size_t>(level)];
}

/// Adds characters to a line, and escape sequences only where a colour changes.
class Painter {
 public:
  explicit Painter(std::string& text) : text_(text) {}
  void foreground(Rgb colour) { change(foreground_, colour, 38); }
  void background(Rgb colour) { change(background_, colour, 48); }
  void put(std::string_view characters) { text_ += characters; }
  void finish() { text_ += foreground_.empty() && background_.empty() ? "" : "\x1b[0m"; }

 private:
  void change(std::string& current, Rgb wanted, int code) {
    std::string sequence = fmt::format("\x1b[{};2;{};{};{}m", code, wanted.r, wanted.g, wanted.b);
    if (current != sequence) {
      text_ += sequence;
      current = std::move(sequence);
    }
  }
  std::string& text_;
  std::string foreground_, background_;
};

Line marks_line(const std::vector<Mark>& marks, const Grid& grid, std::int64_t row, const std::string& label,
                TerminalColour colour) {
  Line line;
  line.add(pad(label, grid.label_columns - 1, Align::kRight) + " ");
  const auto width = static_cast<std::size_t>(grid.mark_columns);
  const bool half_blocks = grid.rows_per_line == 2;
  const bool has_lower = half_blocks && row + 1 < grid.rows;
  Painter painter(line.text);
  for (std::int64_t column = 0; column < grid.columns; ++column) {
    const auto at = static_cast<std::size_t>(row * grid.columns + column);
    if (colour == TerminalColour::kPlain) {
      painter.put(std::string(width, character_of(marks[at])));
    } else if (half_blocks) {
      painter.foreground(colour_of(marks[at]));
      if (has_lower) {
        painter.background(colour_of(marks[at + static_cast<std::size_t>(grid.columns)]));
      }
      painter.put("\u2580");
    } else {
      painter.background(colour_of(marks[at]));
      painter.put(std::string(width, ' '));
    }
  }
  painter.finish();
  line.width += grid.columns * grid.mark_columns;
  return line;
}

Line key_labels_line(const std::vector<std::string>& labels, const Grid& grid) {
  // Every k-th label, so that there is a space between two of them.
  const std::int64_t every = divide_up(widest(labels) + 1, grid.mark_columns);
  Line line;
  line.add(std::string(static_cast<std::size_t>(grid.label_columns), ' '));
  const std::int64_t room = grid.columns * grid.mark_columns;
  for (std::int64_t j = 0; j < grid.columns; j += every) {
    const std::int64_t free = std::min(every * grid.mark_columns, room - j * grid.mark_columns);
    const std::string& label = labels[static_cast<std::size_t>(j)];
    line.add(pad(display_width(label) <= free || j == 0 ? label : "", free, Align::kLeft));
  }
  return line;
}

std::vector<Line> head_block(const AttentionMaps& maps, const Selection& selection, const Grid& grid,
                             const TerminalRequest& request) {
  const LayerWeights& layer = select(maps, selection);
  const auto weights = layer.head(selection.sample, selection.head);
  const HeadSummary summary = summarise(weights, layer.queries, layer.keys);
  const std::vector<Mark> marks = marks_of(layer, weights, summary, grid, request.color_range);
  const AxisTokens tokens = axis_tokens(maps, selection);
  const auto query_labels = shown(tokens.query, grid.fold);
  std::vector<Line> block(2);
  block[0].add(fmt::format("head {}", selection.head));
  block[1].add(fmt::format("entropy {}", readable(summary.entropy, 3)));
  block.push_back(key_labels_line(shown(tokens.key, grid.fold), grid));
  for (std::int64_t row = 0; row < grid.rows; row += grid.rows_per_line) {
    block.push_back(
        marks_line(marks, grid, row, query_labels[static_cast<std::size_t>(row)], request.colour));
  }
  if (!summary.blind.empty()) {
    block.emplace_back().add(fmt::format(
        "{} nothing", counted(static_cast<std::int64_t>(summary.blind.size()), "row sees", "rows see")));
  }
  return block;
}

/// Blocks that stand next to each other, as lines of text.
std::string side_by_side(const std::vector<std::vector<Line>>& blocks, std::int64_t width) {
  std::size_t height = 0;
  for (const auto& block : blocks) {
    height = std::max(height, block.size());
  }
  std::string text;
  for (std::size_t i = 0; i < height; ++i) {
    std::string line;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const Line empty, &part = i < blocks[b].size() ? blocks[b][i] : empty;
      line += part.text;
      if (b + 1 < blocks.size()) {
        line += std::string(static_cast<std::size_t>(width + kGap - part.width), ' ');
      }
    }
    text += line + "\n";
  }
  return text;
}

/// Parts joined by commas, broken into lines of at most `columns`.
std::string wrapped(const std::vector<std::string>& parts, std::int64_t columns) {
  std::string text, line;
  for (const std::string& part : parts) {
    if (line.empty()) {
      line = part;
    } else if (display_width(line) + display_width(part) + 2 <= columns) {
      line += ", " + part;
    } else {
      text += line + "\n";
      line = part;
    }
  }
  return text + line + "\n";
}

std::string legend(const TerminalRequest& request) {
  std::string bar;
  if (request.colour == TerminalColour::kPlain) {
    bar = fmt::format("[{}]", kRamp);
  } else {
    constexpr int kSteps = 12;
    Painter painter(bar);
    for (int i = 0; i < kSteps; ++i) {
      painter.background(viridis(i / (kSteps - 1.0)));
      painter.put(" ");
    }
    painter.finish();
  }
  switch (request.color_range) {
    case ColorRange::kUnit:
      return fmt::format("0 {} 1\n", bar);
    case ColorRange::kHead:
      return fmt::format("0 {} largest of the head\n", bar);
    case ColorRange::kLog:
      return fmt::format("1e-4 {} 1, log\n", bar);
  }
  return bar;
}

}  // namespace

std::string terminal_picture(const AttentionMaps& maps, const TerminalRequest& request) {
  if (request.columns < kMinColumns) {
    throw ConfigError("heatmap",
                      fmt::format("{} columns, expected {} or more", request.columns, kMinColumns));
  }
  Selection selection{.layer = request.layer, .head = request.head.value_or(0), .sample = request.sample};
  const LayerWeights& layer = select(maps, selection);
  const std::int64_t n_heads = request.head ? 1 : layer.heads;
  const Grid grid = plan(axis_tokens(maps, selection), n_heads, request);

  std::string text = wrapped({visible(maps.task), layer_title(layer.stack, layer.layer),
                              fmt::format("step {}", maps.step), fmt::format("sample {}", request.sample)},
                             request.columns);
  text += wrapped({fmt::format("{} down", counted(layer.queries, "query", "queries")),
                   fmt::format("{} across", counted(layer.keys, "key"))},
                  request.columns);
  if (grid.fold > 1) {
    text += wrapped({fmt::format("folded to {} x {}", grid.rows, grid.columns),
                     fmt::format("a mark is the largest of {0} x {0}", grid.fold), "numbered by position"},
                    request.columns);
  } else if (grid.rows_per_line > 1) {
    text += wrapped({"two queries a line", "the upper one is labelled"}, request.columns);
  }
  const std::int64_t width = std::max(grid.label_columns + grid.columns * grid.mark_columns, kTitleColumns);
  const std::int64_t per_line = std::max<std::int64_t>((request.columns + kGap) / (width + kGap), 1);
  for (std::int64_t first = 0; first < n_heads; first += per_line) {
    std::vector<std::vector<Line>> blocks;
    for (std::int64_t h = first; h < std::min(first + per_line, n_heads); ++h) {
      selection.head = request.head.value_or(h);
      blocks.push_back(head_block(maps, selection, grid, request));
    }
    text += '\n';
    text += side_by_side(blocks, width);
  }
  return text + '\n' + legend(request);
}

}  // namespace headtorch::report
