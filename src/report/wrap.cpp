#include "src/report/wrap.hpp"

#include <algorithm>

#include "src/report/text.hpp"

namespace headtorch::report {
namespace {

std::string cut_visible(const std::string& text, double width, const TextStyle& style) {
  if (measure(text, style).width <= width) return text;
  std::int64_t fits = 1, too_many = display_width(text);
  while (fits + 1 < too_many) {
    const std::int64_t middle = (fits + too_many) / 2;
    (measure(fit(text, middle), style).width <= width ? fits : too_many) = middle;
  }
  return fit(text, fits);
}

}  // namespace

std::vector<std::string> wrapped(std::string_view text, double width, const TextStyle& style) {
  std::vector<std::string> lines;
  const std::string whole = visible(text);
  std::string_view rest = whole;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    const std::string word(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!lines.empty() && measure(lines.back() + ' ' + word, style).width <= width) {
      lines.back() += ' ' + word;
      continue;
    }
    lines.push_back(cut_visible(word, width, style));
  }
  return lines;
}

std::string cut(std::string_view text, double width, const TextStyle& style) {
  return text.empty() ? std::string() : cut_visible(visible(text), width, style);
}

}  // namespace headtorch::report
