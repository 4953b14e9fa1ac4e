#include "src/report/panels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>

#include "src/report/heatmap.hpp"
#include "src/report/heatmap_style.hpp"
#include "src/report/legend.hpp"

namespace headtorch::report {
namespace {

constexpr double kBetween = 22, kRowGap = 20, kLegendGap = 6, kParagraphGap = 7;
constexpr double kNarrowestPage = 480, kLine = 15, kTitleLine = 20;

/// Points of a part's axes on a page that the row with most text makes no wider.
double usual_width(std::size_t parts) {
  constexpr std::array<double, 4> kWidths = {560, 380, 300, 250};
  return kWidths[std::min(parts, kWidths.size()) - 1];
}

double usual_height(double width) { return std::clamp(std::round(0.68 * width), 190.0, 330.0); }

Room room_of(const Part& part, const Extent& data) {
  return std::visit([&](const auto& one) { return room_around(one, data); }, part);
}

std::vector<Series> entries_of(const Part& part) {
  const Plot* plot = std::get_if<Plot>(&part);
  return plot == nullptr ? std::vector<Series>() : legend_entries(*plot);
}

bool look_alike(const std::vector<Series>& a, const std::vector<Series>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Series& one, const Series& other) {
    return one.label == other.label && one.colour == other.colour && one.dash == other.dash &&
           one.width == other.width && one.has_points == other.has_points;
  });
}

/// The legend that all plots with labels have; empty where there are several, or only one plot has it.
std::vector<Series> shared_entries(const Panels& panels) {
  std::vector<Series> shared;
  int plots = 0;
  for (const auto& row : panels.rows) {
    for (const Part& part : row) {
      std::vector<Series> entries = entries_of(part);
      if (entries.empty()) continue;
      if (plots++ == 0)
        shared = std::move(entries);
      else if (!look_alike(shared, entries))
        return {};
    }
  }
  return plots > 1 ? shared : std::vector<Series>();
}

std::vector<std::string> lines_of(std::string_view text, double width, const TextStyle& style) {
  return text.empty() ? std::vector<std::string>() : wrapped(text, width, style);
}

std::vector<std::vector<std::string>> paragraphs_of(std::string_view text, double width) {
  std::vector<std::vector<std::string>> paragraphs;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) paragraphs.push_back(wrapped(text.substr(0, end), width, kAxisStyle));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return paragraphs;
}

/// By column: what rows with equally many parts take at most, so that their axes stand one below the other.
using Rooms = std::map<std::size_t, std::vector<Room>>;

void widen(Rooms& rooms, const std::vector<Part>& row, double width) {
  std::vector<Room>& columns = rooms[row.size()];
  columns.resize(row.size());
  for (std::size_t i = 0; i < row.size(); ++i) {
    const Room room = room_of(row[i], {width, usual_height(width)});
    columns[i].left = std::max(columns[i].left, std::ceil(room.left));
    columns[i].right = std::max(columns[i].right, std::ceil(room.right));
  }
}

double text_width(const std::vector<Room>& columns) {
  double width = kBetween * static_cast<double>(columns.size() - 1);
  for (const Room& room : columns) width += room.left + room.right;
  return width;
}

/// A page with all its text in lines.
struct Page {
  PanelsLayout layout;
  std::vector<std::string> title, subtitle;
  Legend shared;
  std::vector<std::vector<Legend>> legends;  ///< one a part, or all empty
  std::vector<std::vector<std::string>> paragraphs;
  double shared_y = 0, text_y = 0;
};

void place_row(Page& page, const std::vector<Part>& row, const std::vector<Room>& columns, double content,
               double& y) {
  const double width = std::floor((content - text_width(columns)) / static_cast<double>(row.size()));
  const double height = usual_height(width);
  double above = 0, below = 0, legends_height = 0;
  std::vector<Legend> legends;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const Room room = room_of(row[i], {width, height});
    above = std::max(above, std::ceil(room.above));
    below = std::max(below, std::ceil(room.below));
    legends.push_back(page.shared.entries.empty() ? layout_legend_across(entries_of(row[i]), width)
                                                  : Legend());
    legends_height = std::max(legends_height, legends.back().size.height);
  }
  if (legends_height > 0) legends_height += kLegendGap;
  double x = kMargin;
  std::vector<Box> data, slots;
  for (const Room& room : columns) {
    data.push_back({x + room.left, y + above, width, height});
    slots.push_back({x, y, room.left + width + room.right, above + height + below + legends_height});
    x = slots.back().right() + kBetween;
  }
  y = slots.front().bottom() + kRowGap;
  page.layout.data.push_back(std::move(data));
  page.layout.slots.push_back(std::move(slots));
  page.legends.push_back(std::move(legends));
}

Page make_page(const Panels& panels) {
  Page page;
  Rooms rooms;
  for (const auto& row : panels.rows) {
    if (!row.empty()) widen(rooms, row, usual_width(row.size()));
  }
  double content = kNarrowestPage;
  for (const auto& [parts, columns] : rooms)
    content = std::max(content, text_width(columns) + usual_width(parts) * static_cast<double>(parts));
  // Once more at the width that a row really gets: its marks may need more room there.
  for (const auto& row : panels.rows) {
    if (row.empty()) continue;
    const double width = (content - text_width(rooms[row.size()])) / static_cast<double>(row.size());
    widen(rooms, row, std::floor(width));
  }
  content = std::ceil(content);

  page.title = lines_of(panels.title, content, kTitleStyle);
  page.subtitle = lines_of(panels.subtitle, content, kSubtitleStyle);
  page.shared = layout_legend_across(shared_entries(panels), content);
  page.paragraphs = paragraphs_of(panels.text, content);
  double y = kMargin + kTitleLine * static_cast<double>(page.title.size()) +
             kLine * static_cast<double>(page.subtitle.size());
  if (!page.title.empty() || !page.subtitle.empty()) y += 8;
  page.shared_y = y;
  if (!page.shared.entries.empty()) y += page.shared.size.height + kLegendGap;
  for (const auto& row : panels.rows) {
    if (row.empty()) {
      page.layout.data.emplace_back();
      page.layout.slots.emplace_back();
      page.legends.emplace_back();
    } else {
      place_row(page, row, rooms[row.size()], content, y);
    }
  }
  page.text_y = y - (panels.rows.empty() ? 0 : kRowGap - 12);
  y = page.text_y;
  for (const auto& lines : page.paragraphs) y += kLine * static_cast<double>(lines.size()) + kParagraphGap;
  page.layout.size = {content + 2 * kMargin, std::ceil(y + kMargin)};
  return page;
}

void draw_part(Canvas& canvas, const Box& data, const Part& part) {
  if (const Plot* plot = std::get_if<Plot>(&part)) {
    draw_plot(canvas, data, *plot);
  } else {
    draw_matrix(canvas, data, std::get<Matrix>(part));
  }
}

}  // namespace

PanelsLayout layout_panels(const Panels& panels) { return make_page(panels).layout; }

std::string draw_panels(const Panels& panels, Format format) {
  const Page page = make_page(panels);
  Canvas canvas(format, page.layout.size, kDensity);
  double y = kMargin;
  for (const std::string& line : page.title) {
    canvas.text(line, kMargin, y + kTitleLine / 2, kTitleStyle);
    y += kTitleLine;
  }
  for (const std::string& line : page.subtitle) {
    canvas.text(line, kMargin, y + kLine / 2, kSubtitleStyle);
    y += kLine;
  }
  draw_legend(canvas, page.shared, kMargin, page.shared_y);
  for (std::size_t i = 0; i < panels.rows.size(); ++i) {
    for (std::size_t j = 0; j < panels.rows[i].size(); ++j) {
      const Box& slot = page.layout.slots[i][j];
      draw_part(canvas, page.layout.data[i][j], panels.rows[i][j]);
      const Legend& legend = page.legends[i][j];
      draw_legend(canvas, legend, page.layout.data[i][j].x, slot.bottom() - legend.size.height);
    }
  }
  y = page.text_y;
  for (const auto& lines : page.paragraphs) {
    for (const std::string& line : lines) {
      canvas.text(line, kMargin, y + kLine / 2, kAxisStyle);
      y += kLine;
    }
    y += kParagraphGap;
  }
  return canvas.finish();
}

}  // namespace headtorch::report
