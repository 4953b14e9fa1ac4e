#include "src/report/wrap.hpp"

#include <algorithm>

#include "src/report/text.hpp"

namespace headtorch::report {
namespace {

std::string cut_visible(std::string text, double width, const TextStyle& style) {
  for (std::int64_t columns = display_width(text); columns > 1 && measure(text, style).width > width;)
    text = fit(text, --columns);
  return text;
}

}  // namespace

std::vector<std::string> wrapped(std::string_view text, double width, const TextStyle& style) {
  std::vector<std::string> lines;
  const std::string whole = visible(text);
  std::string_view rest = whole;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    std::string word(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!lines.empty() && measure(lines.back() + ' ' + word, style).width <= width) {
      lines.back() += ' ' + word;
      continue;
    }
    lines.push_back(cut_visible(std::move(word), width, style));
  }
  return lines;
}

std::string cut(std::string_view text, double width, const TextStyle& style) {
  return text.empty() ? std::string() : cut_visible(visible(text), width, style);
}

}  // namespace headtorch::report
