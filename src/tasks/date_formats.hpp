#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace headtorch::tasks {

inline constexpr std::int64_t kDateFormats = 15;
inline constexpr int kFirstYear = 1900, kLastYear = 2099;

/// A date as people write it, in one of 15 ways. The year has four digits and the month is a name, a Roman
/// number or follows the year, so that every text stands for one date.
std::string date_text(const std::chrono::year_month_day& date, std::int64_t format);

/// "2026-11-29".
std::string iso_text(const std::chrono::year_month_day& date);

}  // namespace headtorch::tasks
