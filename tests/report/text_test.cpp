#include "src/report/text.hpp"

#include <gmock/gmock.h>

#include <limits>

#include "src/core/error.hpp"
#include "src/report/table.hpp"

namespace headtorch::report {
namespace {

TEST(Text, shows_what_is_invisible) {
  EXPECT_EQ(visible("\n"), "↵");
  EXPECT_EQ(visible("\t"), "⇥");
  EXPECT_EQ(visible(" "), "␣");
  EXPECT_EQ(visible("two words"), "two words");
  EXPECT_EQ(visible("\x1b[31m"), "U+001B[31m");
  EXPECT_EQ(visible(std::string_view("a\0b", 3)), "aU+0000b");
  EXPECT_EQ(visible("\r"), "U+000D");
  EXPECT_EQ(visible("\u200f"), "U+200F");
  EXPECT_EQ(visible("\u2028"), "U+2028");
  EXPECT_EQ(visible("\u200d"), "U+200D");
  EXPECT_EQ(visible(""), "∅");
}

TEST(Text, leaves_letters_of_every_script_alone) {
  for (const char* text : {"naïve", "Привет", "中文", "😀", "<b>&amp;", "\U0001F468\u200d\U0001F469"}) {
    EXPECT_EQ(visible(text), text);
  }
  EXPECT_EQ(visible("\u0301"), "◌\u0301");
}

TEST(Text, broken_utf8_becomes_a_replacement_for_each_byte) {
  EXPECT_EQ(visible("a\xff"
                    "b"),
            "a\ufffdb");
  EXPECT_EQ(visible("\xe4\xb8"), "\ufffd\ufffd");
  EXPECT_EQ(visible("\xed\xa0\x80"), "\ufffd\ufffd\ufffd");
}

TEST(Text, width_counts_terminal_columns) {
  EXPECT_EQ(display_width("abc"), 3);
  EXPECT_EQ(display_width("中文"), 4);
  EXPECT_EQ(display_width("😀"), 2);
  EXPECT_EQ(display_width("e\u0301"), 1);
  EXPECT_EQ(display_width(""), 0);
}

TEST(Text, fit_cuts_at_characters_and_says_so) {
  EXPECT_EQ(fit("abcdef", 6), "abcdef");
  EXPECT_EQ(fit("abcdef", 4), "abc…");
  EXPECT_EQ(fit("中文字", 4), "中…");
  EXPECT_EQ(fit("abc", 1), "…");
  EXPECT_EQ(fit("abc", 0), "");
}

TEST(Text, numbers_for_people) {
  EXPECT_EQ(readable(0.98764), "0.9876");
  EXPECT_EQ(readable(1.0), "1.000");
  EXPECT_EQ(readable(1.0, 1), "1");
  EXPECT_EQ(readable(1e15, 2), "1.0e+15");
  EXPECT_EQ(readable(1234), "1234");
  EXPECT_EQ(readable(12345.6), "12346");
  EXPECT_EQ(readable(-0.5, 1), "-0.5");
  EXPECT_EQ(readable(0.0, 3), "0.00");
  EXPECT_EQ(readable(1234567), "1234567");
  EXPECT_EQ(readable(12.3456, 3), "12.3");
  EXPECT_EQ(readable(1.5e-7, 2), "1.5e-07");
  EXPECT_EQ(readable(std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(readable(-std::numeric_limits<double>::infinity()), "-inf");
}

TEST(Text, counts) {
  EXPECT_EQ(counted(1, "row"), "1 row");
  EXPECT_EQ(counted(0, "row"), "0 rows");
  EXPECT_EQ(counted(2, "query", "queries"), "2 queries");
}

TEST(Table, aligns_by_terminal_columns) {
  const Table table{.headers = {"name", "loss"}, .rows = {{"中文", "1.5"}, {"a", "10.25"}}, .align = {}};
  EXPECT_EQ(to_text(table),
            "name   loss\n"
            "────  ─────\n"
            "中文    1.5\n"
            "a     10.25\n");
}

TEST(Table, keeps_no_space_at_line_ends_and_no_control_characters) {
  const Table table{.headers = {"a", "b"}, .rows = {{"x\ny", ""}}, .align = {Align::kLeft, Align::kLeft}};
  EXPECT_EQ(to_text(table),
            "a    b\n"
            "───  ─\n"
            "x↵y\n");
}

TEST(Table, refuses_ragged_rows) {
  EXPECT_THROW(to_text({.headers = {"a", "b"}, .rows = {{"1"}}, .align = {}}), ShapeError);
  EXPECT_THROW(to_text({.headers = {"a", "b"}, .rows = {}, .align = {Align::kLeft}}), ShapeError);
}

}  // namespace
}  // namespace headtorch::report
