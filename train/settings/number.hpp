#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace headtorch::train {

/// Why a text is no number: it is something else, or it is one that the type cannot hold ("1e400").
enum class NumberFault { kNone, kUnreadable, kTooLarge };

template <typename T>
struct ParsedNumber {
  T value{};
  NumberFault fault = NumberFault::kNone;
};

/// The whole of `text` as one decimal number, in any locale with `.` as the point. Blanks around it and a
/// leading `+` are allowed; units, hexadecimal and digit separators are not.
ParsedNumber<std::int64_t> parse_integer(std::string_view text);
ParsedNumber<double> parse_real(std::string_view text);

/// The parts between commas: one for a text without any, empty ones where commas meet.
std::vector<std::string_view> split_at_commas(std::string_view text);

}  // namespace headtorch::train
