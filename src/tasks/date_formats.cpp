#include "src/tasks/date_formats.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace headtorch::tasks {
namespace {

constexpr std::array<std::string_view, 12> kMonths = {"January",   "February", "March",    "April",
                                                      "May",       "June",     "July",     "August",
                                                      "September", "October",  "November", "December"};
constexpr std::array<std::string_view, 12> kRoman = {"I",   "II",   "III", "IV", "V",  "VI",
                                                     "VII", "VIII", "IX",  "X",  "XI", "XII"};
constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};

std::string_view ordinal_ending(unsigned day) {
  if (day / 10 == 1) return "th";
  return day % 10 == 1 ? "st" : day % 10 == 2 ? "nd" : day % 10 == 3 ? "rd" : "th";
}

}  // namespace

std::string date_text(const std::chrono::year_month_day& date, std::int64_t format) {
  const int y = static_cast<int>(date.year());
  const auto m = static_cast<unsigned>(date.month()), d = static_cast<unsigned>(date.day());
  const std::string_view month = kMonths.at(m - 1), short_month = month.substr(0, 3);
  const std::string_view day = kDays.at(std::chrono::weekday(date).c_encoding());
  switch (format) {
    case 0:
      return fmt::format("{} {} {}", d, month, y);
    case 1:
      return fmt::format("{} {}, {}", month, d, y);
    case 2:
      return fmt::format("{} {} {}", d, short_month, y);
    case 3:
      return fmt::format("{} {}, {}", short_month, d, y);
    case 4:
      return fmt::format("{}, {} {} {}", day, d, month, y);
    case 5:
      return fmt::format("{}, {} {}, {}", day, month, d, y);
    case 6:
      return fmt::format("{} {} {} {}", day.substr(0, 3), d, short_month, y);
    case 7:
      return fmt::format("{}{} of {} {}", d, ordinal_ending(d), month, y);
    case 8:
      return fmt::format("{} {}{}, {}", month, d, ordinal_ending(d), y);
    case 9:
      return fmt::format("{:02}-{}-{}", d, short_month, y);
    case 10:
      return fmt::format("{}/{:02}/{:02}", y, m, d);
    case 11:
      return fmt::format("{}.{}.{}", y, m, d);
    case 12:
      return fmt::format("{}{:02}{:02}", y, m, d);
    case 13:
      return fmt::format("{}.{}.{}", d, kRoman.at(m - 1), y);
    default:
      return fmt::format("{} {} {}", y, month, d);
  }
}

std::string iso_text(const std::chrono::year_month_day& date) {
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()));
}

}  // namespace headtorch::tasks
