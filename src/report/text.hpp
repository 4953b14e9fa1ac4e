#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headtorch::report {

/// `text` with nothing invisible or broken in it: newline as U+21B5, tab as U+21E5, a text of spaces alone as
/// U+2423, other control characters, direction marks and characters without width spelled out as "U+200F",
/// bytes that are not UTF-8 as U+FFFD, nothing as U+2205. Valid UTF-8, for display only.
std::string visible(std::string_view text);

/// Columns of a terminal that valid UTF-8 takes: 2 for wide characters (Chinese, emoji), 0 for combining
/// ones.
std::int64_t display_width(std::string_view text);

/// `text` cut to at most `columns` terminal columns, with U+2026 at the end when something was left out.
std::string fit(std::string_view text, std::int64_t columns);

enum class Align { kLeft, kRight };

/// `text` filled up with spaces to `columns`; unchanged when it is wider.
std::string pad(std::string_view text, std::int64_t columns, Align align);

/// A number for people: `digits` significant digits (all of them before the point up to 1e15), "." as decimal
/// point in every locale, "nan" and "inf" when it is not finite.
std::string readable(double value, int digits = 4);

/// "1 row", "3 rows"; `many` is for words whose plural is not `one` + "s".
std::string counted(std::int64_t n, std::string_view one, std::string_view many = {});

}  // namespace headtorch::report
