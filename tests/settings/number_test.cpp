#include "train/settings/number.hpp"

#include <gtest/gtest.h>

#include <clocale>
#include <locale>

namespace headtorch::train {
namespace {

/// `,` as the decimal point, as in a German system.
struct CommaLocale : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
};

TEST(Number, G36_forms_that_are_numbers_in_every_locale) {
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new CommaLocale));
  std::setlocale(LC_ALL, "de_DE.UTF-8");
  EXPECT_EQ(parse_real("3.14").value, 3.14);
  EXPECT_EQ(parse_real("1e-3").value, 0.001);
  EXPECT_EQ(parse_real("+2").value, 2.0);
  EXPECT_EQ(parse_real(" 4 ").value, 4.0);
  EXPECT_EQ(parse_real(".5").value, 0.5);
  EXPECT_EQ(parse_real("-.5e+1").value, -5.0);
  EXPECT_EQ(parse_integer(" +12 ").value, 12);
  std::locale::global(before);
  std::setlocale(LC_ALL, "C");
}

TEST(Number, G36_forms_that_are_none) {
  for (const char* text :
       {"", " ", "+", "-", ".", "1.5abc", "0x10", "1_000", "1,5", "1 2", "+-2", "++2", "e5", "1e"}) {
    EXPECT_EQ(parse_real(text).fault, NumberFault::kUnreadable) << '"' << text << '"';
    EXPECT_EQ(parse_integer(text).fault, NumberFault::kUnreadable) << '"' << text << '"';
  }
  EXPECT_EQ(parse_integer("1.0").fault, NumberFault::kUnreadable);
  EXPECT_EQ(parse_integer("1e3").fault, NumberFault::kUnreadable);
}

TEST(Number, G36_too_large_to_hold) {
  EXPECT_EQ(parse_real("1e400").fault, NumberFault::kTooLarge);
  EXPECT_EQ(parse_real("-1e400").fault, NumberFault::kTooLarge);
  EXPECT_EQ(parse_integer("9223372036854775808").fault, NumberFault::kTooLarge);
  EXPECT_EQ(parse_integer("9223372036854775807").value, 9223372036854775807);
}

}  // namespace
}  // namespace headtorch::train
