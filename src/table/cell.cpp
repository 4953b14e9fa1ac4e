#include "src/table/cell.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <system_error>

#include "src/core/error.hpp"

namespace headtorch::table {
namespace {

constexpr std::string_view kMissing[] = {"", "NA", "N/A", "NaN", "nan", "null"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

std::string_view without_sign(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  return text;
}

bool starts_as_number(std::string_view text) {
  text = without_sign(text);
  if (text.starts_with('.') || text.starts_with(',')) text.remove_prefix(1);
  return !text.empty() && is_digit(text.front());
}

bool is_infinite(std::string_view text) {
  std::string lower(without_sign(text));
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower == "inf" || lower == "infinity";
}

std::from_chars_result parse(std::string_view text, double& number) {
  if (text.starts_with('+')) text.remove_prefix(1);
  return std::from_chars(text.data(), text.data() + text.size(), number);
}

bool looks_like_date(std::string_view text) {
  return text.size() == 10 && text[4] == '-' && text[7] == '-' && all_digits(text.substr(0, 4)) &&
         all_digits(text.substr(5, 2)) && all_digits(text.substr(8));
}

std::optional<double> days_of(std::string_view text) {
  if (!looks_like_date(text)) return {};
  const auto part = [&](std::size_t from, std::size_t count) {
    int value = 0;
    for (const char c : text.substr(from, count)) value = 10 * value + (c - '0');
    return value;
  };
  const std::chrono::year_month_day date{std::chrono::year(part(0, 4)),
                                         std::chrono::month(static_cast<unsigned>(part(5, 2))),
                                         std::chrono::day(static_cast<unsigned>(part(8, 2)))};
  if (!date.ok()) return {};
  return static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count());
}

/// `1,234.5` without its separators, if they stand where thousands end.
std::optional<std::string> without_thousands(std::string_view text) {
  const std::string_view whole = text.substr(0, text.find('.'));
  std::size_t digits = 0, commas = 0;
  for (auto c = whole.rbegin(); c != whole.rend() && (is_digit(*c) || *c == ','); ++c) {
    if (*c == ',') {
      if (digits != 3) return {};
      digits = 0;
      ++commas;
    } else {
      ++digits;
    }
  }
  if (commas == 0 || digits == 0 || digits > 3) return {};
  std::string plain(text);
  std::erase(plain, ',');
  return read_cell(plain).kind == CellKind::kNumber ? std::optional(plain) : std::nullopt;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = std::min(text.find_first_not_of(kBlanks), text.size());
  text.remove_prefix(first);
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

Cell read_cell(std::string_view text) {
  if (std::find(std::begin(kMissing), std::end(kMissing), text) != std::end(kMissing)) return {};
  if (is_infinite(text)) return {CellKind::kBroken, 0.0};
  if (!starts_as_number(text)) return {CellKind::kWord, 0.0};
  double number = 0.0;
  const auto [end, error] = parse(text, number);
  if (error == std::errc() && end == text.data() + text.size()) return {CellKind::kNumber, number};
  if (const auto days = days_of(text)) return {CellKind::kDate, *days};
  return {CellKind::kBroken, 0.0};
}

std::string complaint(std::string_view text) {
  const std::string shown = fmt::format("\"{}\"", one_line(text.substr(0, 60)));
  if (is_infinite(text)) return fmt::format("{} is not finite, expected a finite number", shown);
  if (looks_like_date(text)) return fmt::format("{} is no day of the calendar, expected YYYY-MM-DD", shown);
  if (const auto plain = without_thousands(text))
    return fmt::format("{} has separators of thousands, expected {}", shown, *plain);
  const std::size_t comma = text.find(',');
  if (comma != text.npos) {
    std::string point(text);
    point[comma] = '.';
    if (read_cell(point).kind == CellKind::kNumber)
      return fmt::format("{} has a decimal comma, expected {}", shown, point);
  }
  double number = 0.0;
  const auto [end, error] = parse(text, number);
  if (error == std::errc::result_out_of_range && end == text.data() + text.size())
    return fmt::format("{} is out of the range of a double, expected at most 1.8e308", shown);
  return fmt::format("{} starts as a number and is none, expected a number or a date YYYY-MM-DD", shown);
}

std::string date_text(double days) {
  const std::chrono::year_month_day date(
      std::chrono::sys_days(std::chrono::days(static_cast<std::int64_t>(days))));
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()));
}

}  // namespace headtorch::table
