#include "src/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/core/error.hpp"

namespace headtorch::report {
namespace {

std::string cell_text(const std::string& cell) { return cell.empty() ? std::string() : visible(cell); }

std::string line(const std::vector<std::string>& cells, const std::vector<std::int64_t>& widths,
                 const std::vector<Align>& align) {
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    text += i == 0 ? "" : "  ";
    text += pad(cell_text(cells[i]), widths[i], align[i]);
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

}  // namespace

std::string to_text(const Table& table) {
  const std::size_t n = table.headers.size();
  std::vector<Align> align = table.align;
  if (align.empty()) {
    align.assign(n, Align::kRight);
    if (n > 0) {
      align[0] = Align::kLeft;
    }
  }
  if (align.size() != n) {
    throw ShapeError("table", fmt::format("{} alignments for {} columns", align.size(), n));
  }
  std::vector<std::int64_t> widths(n);
  for (std::size_t i = 0; i < n; ++i) {
    widths[i] = display_width(cell_text(table.headers[i]));
  }
  for (const auto& row : table.rows) {
    if (row.size() != n) {
      throw ShapeError("table", fmt::format("a row has {} cells, expected {}", row.size(), n));
    }
    for (std::size_t i = 0; i < n; ++i) {
      widths[i] = std::max(widths[i], display_width(cell_text(row[i])));
    }
  }
  std::string text = line(table.headers, widths, align);
  for (std::size_t i = 0; i < n; ++i) {
    text += i == 0 ? "" : "  ";
    for (std::int64_t k = 0; k < widths[i]; ++k) {
      text += "\u2500";
    }
  }
  text += "\n";
  for (const auto& row : table.rows) {
    text += line(row, widths, align);
  }
  return text;
}

}  // namespace headtorch::report
