#include "src/report/text.hpp"

#include <fmt/format.h>
#include <glib.h>

#include <algorithm>
#include <cmath>

namespace headtorch::report {
namespace {

constexpr gunichar kReplacement = 0xfffd;

struct Character {
  gunichar code = 0;
  std::size_t bytes = 0;
};

Character next_character(std::string_view text) {
  const gunichar code = g_utf8_get_char_validated(text.data(), static_cast<gssize>(text.size()));
  // Also U+0000, which glib takes for the end of the text.
  if (text.front() == '\0') {
    return {0, 1};
  }
  if (code > 0x10ffff) {
    return {kReplacement, 1};
  }
  return {code, static_cast<std::size_t>(g_utf8_skip[static_cast<unsigned char>(text.front())])};
}

void append(std::string& text, gunichar code) {
  char buffer[6];
  const int length = g_unichar_to_utf8(code, buffer);
  text.append(buffer, static_cast<std::size_t>(length));
}

bool is_format_or_separator(gunichar code) {
  const GUnicodeType type = g_unichar_type(code);
  return type == G_UNICODE_FORMAT || type == G_UNICODE_CONTROL || type == G_UNICODE_LINE_SEPARATOR ||
         type == G_UNICODE_PARAGRAPH_SEPARATOR || type == G_UNICODE_SURROGATE;
}

/// Joins emoji or chooses their form; harmless after another character.
bool belongs_to_previous(gunichar code) { return code == 0x200d || (code >= 0xfe00 && code <= 0xfe0f); }

std::int64_t character_width(gunichar code) {
  if (g_unichar_iszerowidth(code)) {
    return 0;
  }
  return g_unichar_iswide(code) ? 2 : 1;
}

}  // namespace

std::string visible(std::string_view text) {
  if (text.empty()) {
    return "\u2205";
  }
  const bool only_spaces = text.find_first_not_of(' ') == std::string_view::npos;
  std::string shown;
  while (!text.empty()) {
    const Character c = next_character(text);
    text.remove_prefix(c.bytes);
    if (c.code == '\n') {
      shown += "\u21b5";
    } else if (c.code == '\t') {
      shown += "\u21e5";
    } else if (c.code == ' ' && only_spaces) {
      shown += "\u2423";
    } else if (belongs_to_previous(c.code) ? shown.empty()
                                           : (is_format_or_separator(c.code) || c.code == 0x034f)) {
      shown += fmt::format("U+{:04X}", c.code);
    } else {
      if (shown.empty() && g_unichar_iszerowidth(c.code)) {
        append(shown, 0x25cc);  // a combining mark alone needs something to sit on
      }
      append(shown, c.code);
    }
  }
  return shown;
}

std::int64_t display_width(std::string_view text) {
  std::int64_t width = 0;
  while (!text.empty()) {
    const Character c = next_character(text);
    text.remove_prefix(c.bytes);
    width += character_width(c.code);
  }
  return width;
}

std::string fit(std::string_view text, std::int64_t columns) {
  if (display_width(text) <= columns) {
    return std::string(text);
  }
  std::string kept;
  std::int64_t width = 0;
  while (!text.empty()) {
    const Character c = next_character(text);
    width += character_width(c.code);
    if (width > columns - 1) {
      break;
    }
    kept += text.substr(0, c.bytes);
    text.remove_prefix(c.bytes);
  }
  return columns > 0 ? kept + "\u2026" : kept;
}

std::string pad(std::string_view text, std::int64_t columns, Align align) {
  const std::int64_t missing = columns - display_width(text);
  const std::string spaces(static_cast<std::size_t>(missing > 0 ? missing : 0), ' ');
  return align == Align::kLeft ? std::string(text) + spaces : spaces + std::string(text);
}

std::string readable(double value, int digits) {
  if (!std::isfinite(value)) {
    return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  }
  const int exponent = value == 0.0 ? 0 : static_cast<int>(std::floor(std::log10(std::abs(value))));
  if (exponent < -4 || exponent >= 15) {
    return fmt::format("{:.{}e}", value, digits - 1);
  }
  return fmt::format("{:.{}f}", value, std::max(digits - 1 - exponent, 0));
}

std::string counted(std::int64_t n, std::string_view one, std::string_view many) {
  return n == 1         ? fmt::format("1 {}", one)
         : many.empty() ? fmt::format("{} {}s", n, one)
                        : fmt::format("{} {}", n, many);
}

}  // namespace headtorch::report
