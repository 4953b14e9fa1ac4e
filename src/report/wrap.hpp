#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/report/canvas.hpp"

namespace headtorch::report {

/// `text` in lines of at most `width`; a word that is wider alone is cut.
std::vector<std::string> wrapped(std::string_view text, double width, const TextStyle& style);

/// `text` on one line of at most `width`, its end left out (U+2026) where it is longer.
std::string cut(std::string_view text, double width, const TextStyle& style);

}  // namespace headtorch::report
