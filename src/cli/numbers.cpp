#include "src/cli/numbers.hpp"

#include <fmt/format.h>

#include <cmath>

#include "src/core/error.hpp"
#include "train/settings/number.hpp"

namespace headtorch::cli {

using train::NumberFault;

std::int64_t whole_number(std::string_view flag, std::string_view text, std::int64_t min, std::int64_t max) {
  const auto number = train::parse_integer(text);
  if (number.fault == NumberFault::kUnreadable) {
    throw UsageError(flag, fmt::format("\"{}\" cannot be read, expected a whole number", text));
  }
  if (number.fault == NumberFault::kTooLarge || number.value < min || number.value > max) {
    throw ConfigError(flag, min == max
                                ? fmt::format("{} is out of range, expected {}", text, min)
                                : fmt::format("{} is out of range, expected {} to {}", text, min, max));
  }
  return number.value;
}

double real_number(std::string_view flag, std::string_view text) {
  const auto number = train::parse_real(text);
  if (number.fault == NumberFault::kUnreadable)
    throw UsageError(flag, fmt::format("\"{}\" cannot be read, expected a number", text));
  if (number.fault == NumberFault::kTooLarge || !std::isfinite(number.value))
    throw ConfigError(flag, fmt::format("{} is not allowed, expected a finite number", text));
  return number.value;
}

std::vector<double> positive_numbers(std::string_view flag, std::string_view text) {
  std::vector<double> numbers;
  for (const std::string_view part : train::split_at_commas(text)) {
    const auto number = train::parse_real(part);
    if (number.fault == NumberFault::kUnreadable) {
      throw UsageError(flag, fmt::format("\"{}\" cannot be read, expected numbers such as 0.5,1,2", text));
    }
    if (number.fault == NumberFault::kTooLarge || !std::isfinite(number.value) || number.value <= 0.0) {
      throw ConfigError(flag, fmt::format("{} is not allowed, expected finite numbers > 0", part));
    }
    numbers.push_back(number.value);
  }
  return numbers;
}

}  // namespace headtorch::cli
