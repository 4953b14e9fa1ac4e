#include "src/table/cells.hpp"

#include <fmt/format.h>
#include <utf8.h>

#include <algorithm>

#include "src/core/error.hpp"
#include "src/table/cell.hpp"

namespace headtorch::table {
namespace {

std::int64_t line_of(std::string_view bytes, std::size_t offset) {
  const std::string_view before = bytes.substr(0, offset);
  std::int64_t line = 1;
  for (std::size_t i = 0; i < before.size(); ++i)
    line += before[i] == '\n' || (before[i] == '\r' && bytes.substr(i + 1, 1) != "\n") ? 1 : 0;
  return line;
}

void check_bytes(std::string_view bytes, std::string_view name) {
  const auto broken =
      static_cast<std::size_t>(utf8::find_invalid(bytes.begin(), bytes.end()) - bytes.begin());
  if (broken < bytes.size()) {
    throw DataError(name,
                    fmt::format("line {}: byte {} of the file (0x{:02x}) is not UTF-8, expected UTF-8",
                                line_of(bytes, broken), broken, static_cast<unsigned char>(bytes[broken])));
  }
  const std::size_t zero = bytes.find('\0');
  if (zero != bytes.npos)
    throw DataError(name, fmt::format("line {}: holds a byte 0, expected text", line_of(bytes, zero)));
}

char separator_of(std::string_view bytes) {
  std::size_t commas = 0, semicolons = 0, tabs = 0;
  bool quoted = false;
  for (const char c : bytes) {
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '\n' || c == '\r') break;
    commas += c == ',' ? 1 : 0;
    semicolons += c == ';' ? 1 : 0;
    tabs += c == '\t' ? 1 : 0;
  }
  if (commas >= semicolons && commas >= tabs) return ',';
  return semicolons >= tabs ? ';' : '\t';
}

class Splitter {
 public:
  Splitter(std::string_view bytes, std::string_view name)
      : rest_(bytes), name_(name), separator_(separator_of(bytes)) {}

  Cells split() {
    while (!rest_.empty()) {
      const std::int64_t line = line_;
      const std::size_t before = cells_.all.size();
      while (cell()) {
      }
      const std::size_t width = cells_.all.size() - before;
      if (width == 1 && cells_.all.back().empty()) {
        blank_.push_back(line);
        cells_.all.pop_back();
        continue;
      }
      keep_blank_lines();
      row(line, width);
    }
    return std::move(cells_);
  }

 private:
  [[noreturn]] void refuse(std::int64_t line, std::string_view what) const {
    throw DataError(name_, fmt::format("line {}: {}", line, what));
  }

  void row(std::int64_t line, std::size_t width) {
    if (cells_.width == 0) cells_.width = width;
    if (width != cells_.width) {
      refuse(line, fmt::format("{} cell{}, expected {} as in line {}", width, width == 1 ? "" : "s",
                               cells_.width, cells_.lines.front()));
    }
    cells_.lines.push_back(line);
  }

  /// A blank line is a missing cell of a file with one column, if more lines follow.
  void keep_blank_lines() {
    if (blank_.empty()) return;
    if (cells_.width != 1)
      refuse(blank_.front(), "is blank, expected cells; only the last lines may be blank");
    std::string_view last = cells_.all.back();
    cells_.all.pop_back();
    for (const std::int64_t line : blank_) {
      cells_.all.emplace_back();
      cells_.lines.push_back(line);
    }
    cells_.all.push_back(last);
    blank_.clear();
  }

  /// Takes one cell and what ends it; true if it was a separator, so that the line goes on.
  bool cell() {
    if (rest_.starts_with('"')) {
      cells_.all.push_back(trimmed(quoted()));
    } else {
      const char ends[] = {separator_, '\n', '\r', '"', '\0'};
      const std::size_t end = std::min(rest_.find_first_of(ends), rest_.size());
      if (end < rest_.size() && rest_[end] == '"')
        refuse(line_, "a quote inside a cell, expected it around the whole cell and doubled inside it");
      cells_.all.push_back(trimmed(rest_.substr(0, end)));
      rest_.remove_prefix(end);
    }
    if (rest_.starts_with(separator_)) {
      rest_.remove_prefix(1);
      return true;
    }
    if (!rest_.empty()) {
      rest_.remove_prefix(rest_.starts_with("\r\n") ? 2 : 1);
      ++line_;
    }
    return false;
  }

  std::string_view quoted() {
    const std::int64_t opened = line_;
    std::string text;
    for (rest_.remove_prefix(1);; rest_.remove_prefix(1)) {
      const std::size_t end = rest_.find('"');
      if (end == rest_.npos) refuse(opened, "a quote is opened and never closed");
      text += rest_.substr(0, end);
      rest_.remove_prefix(end + 1);
      if (!rest_.starts_with('"')) break;
      text += '"';
    }
    line_ += line_of(text, text.size()) - 1;
    if (!rest_.empty() && rest_[0] != separator_ && rest_[0] != '\n' && rest_[0] != '\r')
      refuse(line_, "a cell goes on behind its closing quote, expected a separator or the end of the line");
    return cells_.unquoted.emplace_back(std::move(text));
  }

  std::string_view rest_, name_;
  char separator_;
  std::int64_t line_ = 1;
  std::vector<std::int64_t> blank_;
  Cells cells_;
};

}  // namespace

Cells split_cells(std::string_view bytes, std::string_view name) {
  check_bytes(bytes, name);
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (bytes.starts_with(kByteOrderMark)) bytes.remove_prefix(kByteOrderMark.size());
  return Splitter(bytes, name).split();
}

}  // namespace headtorch::table
