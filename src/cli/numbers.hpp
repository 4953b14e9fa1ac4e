#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headtorch::cli {

/// A flag's text as a whole number in min..max.  @throws UsageError when it cannot be read, ConfigError
/// outside the range.
std::int64_t whole_number(std::string_view flag, std::string_view text, std::int64_t min, std::int64_t max);
/// A finite number.  @throws likewise.
double real_number(std::string_view flag, std::string_view text);
/// Positive numbers separated by commas.  @throws likewise.
std::vector<double> positive_numbers(std::string_view flag, std::string_view text);

}  // namespace headtorch::cli
