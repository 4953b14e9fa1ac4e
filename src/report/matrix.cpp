#include "src/report/matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/core/error.hpp"
#include "src/report/heatmap.hpp"
#include "src/report/heatmap_style.hpp"
#include "src/report/text.hpp"
#include "src/report/ticks.hpp"

namespace headtorch::report {
namespace {

constexpr double kBarGap = 10, kLine = 15, kTitleUp = 11, kMostBarMarks = 6;
constexpr double kLargestFont = 11, kSmallestFont = 6.5;

void check_count(std::size_t n, std::int64_t wanted, std::string_view what) {
  if (static_cast<std::int64_t>(n) != wanted)
    throw ShapeError("matrix", fmt::format("{} {}, expected {}", n, what, wanted));
}

void check_counts(const Matrix& matrix) {
  check_count(matrix.values.size(), matrix.rows * matrix.columns, "values");
  if (!matrix.row_names.empty()) check_count(matrix.row_names.size(), matrix.rows, "names of rows");
  if (!matrix.column_names.empty())
    check_count(matrix.column_names.size(), matrix.columns, "names of columns");
  if (!matrix.cell_texts.empty())
    check_count(matrix.cell_texts.size(), matrix.rows * matrix.columns, "texts of cells");
}

/// What is drawn: neighbours put together where there are more than pixels.
struct Cells {
  std::int64_t rows = 0, columns = 0, row_fold = 1, column_fold = 1;
  std::vector<double> values = {};
  bool is_folded() const { return row_fold * column_fold > 1; }
  bool has_gaps() const {
    return std::any_of(values.begin(), values.end(), [](double value) { return std::isnan(value); });
  }
};

std::int64_t fold_of(std::int64_t n, double points) {
  const auto pixels = std::max<std::int64_t>(1, static_cast<std::int64_t>(points * kDensity));
  return std::max<std::int64_t>(1, (n + pixels - 1) / pixels);
}

Cells cells_of(const Matrix& matrix, const Extent& data) {
  Cells cells{.row_fold = fold_of(matrix.rows, data.height),
              .column_fold = fold_of(matrix.columns, data.width)};
  cells.rows = (matrix.rows + cells.row_fold - 1) / cells.row_fold;
  cells.columns = (matrix.columns + cells.column_fold - 1) / cells.column_fold;
  cells.values.assign(static_cast<std::size_t>(cells.rows * cells.columns), NAN);
  for (std::int64_t i = 0; i < matrix.rows; ++i) {
    for (std::int64_t j = 0; j < matrix.columns; ++j) {
      double& cell =
          cells.values[static_cast<std::size_t>(i / cells.row_fold * cells.columns + j / cells.column_fold)];
      cell = std::fmax(cell, matrix.values[static_cast<std::size_t>(i * matrix.columns + j)]);
    }
  }
  return cells;
}

AxisRange colour_range(const Matrix& matrix) {
  AxisRange range{INFINITY, -INFINITY};
  if (matrix.range) range = *matrix.range;
  if (!matrix.range) {
    for (const double value : matrix.values) {
      if (!std::isfinite(value)) continue;
      range = {std::min(range.low, value), std::max(range.high, value)};
    }
  }
  if (range.low > range.high) return {};
  const AxisRange around = range_around({range.low, range.high});
  const bool is_wide = around.low < range.low && range.high - range.low > 0.5 * (around.high - around.low);
  return is_wide ? range : around;
}

Rgb colour_of(double value, const AxisRange& range) {
  return std::isnan(value) ? kSeesNothing : viridis((value - range.low) / (range.high - range.low));
}

std::vector<AxisMark> bar_marks(const AxisRange& range) {
  return round_marks(range, static_cast<int>(kMostBarMarks));
}

double widest_of(const std::vector<AxisMark>& marks) {
  double widest = 0;
  for (const AxisMark& mark : marks) widest = std::max(widest, measure(mark.text, kBarStyle).width);
  return std::ceil(widest);
}

/// Names or numbers along one side.
struct Side {
  AxisTicks names;
  std::vector<AxisMark> numbers;
  double depth = 0;
};

AxisRange ascending(const AxisRange& range) {
  return {std::min(range.low, range.high), std::max(range.low, range.high)};
}

bool is_usable(const std::optional<AxisRange>& range) {
  return range && std::isfinite(range->high - range->low) && range->low != range->high;
}

Side left_side(const Matrix& matrix, double height) {
  Side side;
  if (!matrix.row_names.empty()) {
    side.names = place_ticks(matrix.row_names, height / static_cast<double>(matrix.rows), Axis::kQuery);
    side.depth = std::ceil(side.names.depth);
  } else if (is_usable(matrix.y_range)) {
    side.numbers = round_marks(ascending(*matrix.y_range), static_cast<int>(height / 34) + 1);
    side.depth = widest_of(side.numbers);
  }
  return side;
}

/// Without those that would touch the one before.
std::vector<AxisMark> sparse(const std::vector<AxisMark>& marks, double cell) {
  constexpr double kGap = 8;
  std::vector<AxisMark> kept;
  double end = -INFINITY;
  for (const AxisMark& mark : marks) {
    const double half = measure(mark.text, kBarStyle).width / 2;
    if (mark.value * cell - half < end + kGap) continue;
    end = mark.value * cell + half;
    kept.push_back(mark);
  }
  return kept;
}

Side lower_side(const Matrix& matrix, double width) {
  Side side;
  if (!matrix.column_names.empty()) {
    side.names = place_ticks(matrix.column_names, width / static_cast<double>(matrix.columns), Axis::kKey);
    side.depth = std::ceil(side.names.depth);
  } else if (!matrix.column_marks.empty()) {
    side.numbers = sparse(matrix.column_marks, width / static_cast<double>(matrix.columns));
    side.depth = 12;
  } else if (is_usable(matrix.x_range)) {
    side.numbers = round_marks(ascending(*matrix.x_range), static_cast<int>(width / 75) + 1);
    side.depth = 12;
  }
  return side;
}

/// Title and notes, from above.
struct Heading {
  std::vector<std::string> title, notes;
  double height() const {
    const std::size_t lines = title.size() + notes.size();
    return lines == 0 ? 6 : kTitleUp + kLine * static_cast<double>(lines) - 2;
  }
};

Heading heading_of(const Matrix& matrix, const Cells& cells, double width) {
  Heading heading;
  if (!matrix.title.empty()) heading.title = wrapped(matrix.title, width, kHeadStyle);
  std::string note;
  if (cells.is_folded())
    note = fmt::format("a cell is the largest of {} x {}", cells.row_fold, cells.column_fold);
  if (cells.has_gaps()) note += fmt::format("{}hatched: no number", note.empty() ? "" : "; ");
  if (!note.empty()) heading.notes = wrapped(note, width, kPanelStyle);
  return heading;
}

void draw_heading(Canvas& canvas, const Box& data, const Heading& heading) {
  double y = data.y - kTitleUp - kLine * static_cast<double>(heading.title.size() + heading.notes.size() - 1);
  for (const std::string& line : heading.title) {
    canvas.text(line, data.x, y, kHeadStyle);
    y += kLine;
  }
  for (const std::string& line : heading.notes) {
    canvas.text(line, data.x, y, kPanelStyle);
    y += kLine;
  }
}

void draw_left(Canvas& canvas, const Box& data, const Matrix& matrix) {
  const Side side = left_side(matrix, data.height);
  draw_ticks(canvas, data, side.names, Axis::kQuery);
  for (const AxisMark& mark : side.numbers) {
    const double y = data.y + (mark.value - matrix.y_range->low) /
                                  (matrix.y_range->high - matrix.y_range->low) * data.height;
    canvas.line(data.x - 3.8, y, data.x - 0.8, y, kFrame, 0.8);
    canvas.text(mark.text, data.x - kTickGap, y, kBarStyle, Anchor::kEnd);
  }
  canvas.text(cut(matrix.y_title, data.height + kPlotBelow, kAxisStyle),
              data.x - kTickGap - side.depth - kAxisTitle / 2, data.y + data.height / 2, kAxisStyle,
              Anchor::kMiddle, Writing::kUp);
}

void draw_below(Canvas& canvas, const Box& data, const Matrix& matrix) {
  const Side side = lower_side(matrix, data.width);
  draw_ticks(canvas, data, side.names, Axis::kKey);
  const AxisRange range = matrix.column_marks.empty() ? matrix.x_range.value_or(AxisRange{})
                                                      : AxisRange{0, static_cast<double>(matrix.columns)};
  for (const AxisMark& mark : side.numbers) {
    const double x = data.x + (mark.value - range.low) / (range.high - range.low) * data.width;
    canvas.line(x, data.bottom() + 0.8, x, data.bottom() + 3.8, kFrame, 0.8);
    canvas.text(mark.text, x, data.bottom() + kTickGap + 6, kBarStyle, Anchor::kMiddle);
  }
  canvas.text(cut(matrix.x_title, data.width + 20, kAxisStyle), data.x + data.width / 2,
              data.bottom() + kTickGap + side.depth + kAxisTitle / 2 + 2, kAxisStyle, Anchor::kMiddle);
}

void draw_bar(Canvas& canvas, const Box& data, const Matrix& matrix, const AxisRange& range) {
  constexpr int kSteps = 128;
  std::vector<Rgb> colours;
  for (int i = 0; i < kSteps; ++i) colours.push_back(viridis(1.0 - i / (kSteps - 1.0)));
  const Box bar{data.right() + kBarGap, data.y, kBarWidth, data.height};
  canvas.cells(bar, kSteps, 1, colours);
  canvas.frame(bar, kFrame, 0.8);
  const std::vector<AxisMark> marks = bar_marks(range);
  for (const AxisMark& mark : marks) {
    const double y = bar.bottom() - (mark.value - range.low) / (range.high - range.low) * bar.height;
    canvas.line(bar.right() + 0.8, y, bar.right() + kBarMark, y, kFrame, 0.8);
    canvas.text(mark.text, bar.right() + kBarMark + 3, y, kBarStyle);
  }
  canvas.text(cut(matrix.bar_title, data.height + kPlotBelow, kBarStyle),
              bar.right() + kBarMark + 3 + widest_of(marks) + kBarTitle / 2, bar.y + bar.height / 2,
              kBarStyle, Anchor::kMiddle, Writing::kUp);
}

bool is_dark(Rgb colour) { return 0.299 * colour.r + 0.587 * colour.g + 0.114 * colour.b < 140; }

void draw_texts(Canvas& canvas, const Box& data, const Matrix& matrix, const AxisRange& range) {
  const double width = data.width / static_cast<double>(matrix.columns);
  const double height = data.height / static_cast<double>(matrix.rows);
  double widest = 1;
  for (const std::string& text : matrix.cell_texts)
    widest = std::max(widest, measure(text, {.size = kLargestFont}).width);
  const double font = std::min({kLargestFont, 0.7 * height, kLargestFont * (width - 4) / widest});
  if (font < kSmallestFont) return;
  for (std::int64_t i = 0; i < matrix.rows; ++i) {
    for (std::int64_t j = 0; j < matrix.columns; ++j) {
      const auto cell = static_cast<std::size_t>(i * matrix.columns + j);
      const Rgb colour = colour_of(matrix.values[cell], range);
      const TextStyle style{.size = font, .colour = is_dark(colour) ? Rgb{255, 255, 255} : kInk};
      const std::string text = visible(matrix.cell_texts[cell]);
      const Point centre{data.x + (static_cast<double>(j) + 0.5) * width,
                         data.y + (static_cast<double>(i) + 0.5) * height};
      if (std::isnan(matrix.values[cell])) {
        const Extent size = measure(text, style);
        canvas.fill({centre.x - size.width / 2 - 2, centre.y - size.height / 2, size.width + 4, size.height},
                    colour);
      }
      canvas.text(text, centre.x, centre.y, style, Anchor::kMiddle);
    }
  }
}

void hatch_gaps(Canvas& canvas, const Box& data, const Cells& cells) {
  constexpr double kSmallestHatched = 5;  // points; smaller cells are plain grey
  const double width = data.width / static_cast<double>(cells.columns);
  const double height = data.height / static_cast<double>(cells.rows);
  for (std::int64_t i = 0; i < cells.rows; ++i) {
    for (std::int64_t j = 0; j < cells.columns; ++j) {
      const auto is_gap = [&](std::int64_t at) {
        return at < cells.columns &&
               std::isnan(cells.values[static_cast<std::size_t>(i * cells.columns + at)]);
      };
      if (!is_gap(j)) continue;
      const std::int64_t first = j;
      while (is_gap(j)) ++j;
      const Box run{data.x + static_cast<double>(first) * width, data.y + static_cast<double>(i) * height,
                    static_cast<double>(j - first) * width, height};
      if (std::min(run.width, run.height) >= kSmallestHatched) canvas.hatch(run, kFrame);
    }
  }
}

}  // namespace

Room room_around(const Matrix& matrix, const Extent& data) {
  check_counts(matrix);
  if (matrix.values.empty())
    return {.left = kAxisTitle, .above = kPlotAbove, .right = 0, .below = kPlotBelow};
  const Heading heading = heading_of(matrix, cells_of(matrix, data), data.width);
  return {.left = kTickGap + left_side(matrix, data.height).depth + kAxisTitle,
          .above = heading.height(),
          .right = kBarGap + kBarWidth + kBarMark + 3 + widest_of(bar_marks(colour_range(matrix))) +
                   (matrix.bar_title.empty() ? 0 : kBarTitle),
          .below = std::max(kPlotBelow, kTickGap + lower_side(matrix, data.width).depth + kAxisTitle + 6)};
}

void draw_matrix(Canvas& canvas, const Box& data, const Matrix& matrix) {
  check_counts(matrix);
  if (matrix.values.empty()) {
    canvas.frame(data, kFrame, 0.8);
    canvas.text("no numbers", data.x + data.width / 2, data.y + data.height / 2, kSubtitleStyle,
                Anchor::kMiddle);
    draw_heading(canvas, data, heading_of(matrix, {}, data.width));
    return;
  }
  const Cells cells = cells_of(matrix, {data.width, data.height});
  const AxisRange range = colour_range(matrix);
  std::vector<Rgb> colours;
  for (const double value : cells.values) colours.push_back(colour_of(value, range));
  canvas.cells(data, cells.rows, cells.columns, colours);
  hatch_gaps(canvas, data, cells);
  if (!matrix.cell_texts.empty()) draw_texts(canvas, data, matrix, range);
  canvas.frame(data, kFrame, 0.8);
  draw_heading(canvas, data, heading_of(matrix, cells, data.width));
  draw_left(canvas, data, matrix);
  draw_below(canvas, data, matrix);
  draw_bar(canvas, data, matrix, range);
}

}  // namespace headtorch::report
