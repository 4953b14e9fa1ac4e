#include "train/settings/number.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace headtorch::train {
namespace {

constexpr std::string_view kBlanks = " \t";

std::string_view without_blanks_and_plus(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  text = text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
  const bool plus = text.size() > 1 && text[0] == '+' && text[1] != '-';  // from_chars knows no plus
  return plus ? text.substr(1) : text;
}

template <typename T>
ParsedNumber<T> parse(std::string_view text) {
  text = without_blanks_and_plus(text);
  ParsedNumber<T> parsed;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed.value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) {
    parsed.fault = NumberFault::kUnreadable;
  } else if (error == std::errc::result_out_of_range) {
    parsed.fault = NumberFault::kTooLarge;
  }
  return parsed;
}

}  // namespace

ParsedNumber<std::int64_t> parse_integer(std::string_view text) { return parse<std::int64_t>(text); }
ParsedNumber<double> parse_real(std::string_view text) { return parse<double>(text); }

std::vector<std::string_view> split_at_commas(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace headtorch::train
