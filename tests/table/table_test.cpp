#include "src/table/table.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>
#include <clocale>
#include <cmath>
#include <locale>

#include "src/core/error.hpp"

namespace headtorch::table {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsNan;

Table parsed(std::string_view bytes) { return parse_table(bytes, "f.csv"); }

std::vector<std::string> names(const Table& table) {
  std::vector<std::string> names;
  for (const Column& column : table.columns) names.push_back(column.name);
  return names;
}

std::string refusal(std::string_view bytes) {
  try {
    parsed(bytes);
  } catch (const DataError& error) {
    return error.what();
  }
  return "accepted";
}

double number(std::string_view cell) {
  return parsed(fmt::format("y\n1\n{}\n2\n", cell)).columns[0].numbers[1];
}

TEST(Table, g35_mark_quotes_and_missing) {
  const Table table = parsed("\xef\xbb\xbf\"t\",\"y\"\r\n0,1\r\n1,\r\n2,3\r\n");
  EXPECT_THAT(names(table), ElementsAre("t", "y"));
  EXPECT_THAT(table.lines, ElementsAre(2, 3, 4));
  EXPECT_THAT(table.columns[0].numbers, ElementsAre(0, 1, 2));
  EXPECT_THAT(table.columns[1].numbers, ElementsAre(1, IsNan(), 3));
  EXPECT_TRUE(table.columns[1].is_missing(1));
  EXPECT_EQ(&find_column(table, "t", "task"), &table.columns[0]);
}

TEST(Table, g35_without_final_newline_or_header) {
  EXPECT_THAT(parsed("t,y\n0,1\n2,3").columns[1].numbers, ElementsAre(1, 3));
  const Table table = parsed("0,1\r\n1,\r\n2,3");
  EXPECT_FALSE(table.has_header);
  EXPECT_THAT(names(table), ElementsAre("1", "2"));
  EXPECT_THAT(table.lines, ElementsAre(1, 2, 3));
  EXPECT_THAT(table.columns[1].numbers, ElementsAre(1, IsNan(), 3));
}

TEST(Table, g35_missing_is_never_zero) {
  for (const char* cell : {"NA", "nan", "NaN", "N/A", "null", "  ", "\"\"", "\" \""}) {
    const Table table = parsed(fmt::format("t,y\n0,1\n1,{}\n2,3\n", cell));
    EXPECT_THAT(table.columns[1].numbers, ElementsAre(1, IsNan(), 3)) << cell;
    const Column* column = &table.columns[1];
    EXPECT_THAT(complete_rows(table, {&column, 1}, Missing::kDrop), ElementsAre(0, 2));
    try {
      complete_rows(table, {&column, 1}, Missing::kRefuse);
      ADD_FAILURE();
    } catch (const DataError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("[f.csv] line 3, column y:"), HasSubstr("missing = drop")));
    }
  }
}

TEST(Table, g35_no_complete_row) {
  const Table table = parsed("t,y\n0,\n,1\n");
  const Column* columns[] = {&table.columns[0], &table.columns[1]};
  EXPECT_THROW(complete_rows(table, columns, Missing::kDrop), DataError);
}

TEST(Table, g35_ragged_lines_and_header_alone) {
  EXPECT_THAT(refusal("t,y\n0,1\n1,2,\n"), HasSubstr("line 3: 3 cells, expected 2"));
  EXPECT_THAT(refusal("t,y\n0,1\n1\n"), HasSubstr("line 3: 1 cell, expected 2"));
  EXPECT_THAT(refusal("t,y,\n0,1,\n"), HasSubstr("column 3 of 3 has no name"));
  EXPECT_THAT(refusal("t,y\n"), HasSubstr("no rows"));
  EXPECT_THAT(refusal(""), HasSubstr("is empty"));
  EXPECT_THAT(refusal("\n\r\n"), HasSubstr("is empty"));
  EXPECT_THAT(refusal("\xef\xbb\xbf"), HasSubstr("is empty"));
  EXPECT_THAT(refusal("t,y\n0,1\n\n2,3\n"), HasSubstr("line 3: is blank"));
}

TEST(Table, g35_one_column) {
  EXPECT_THAT(parsed("y\n1\n\n3\n\n\n").columns[0].numbers, ElementsAre(1, IsNan(), 3));
  EXPECT_THAT(parsed("y\n1\n\n3\n").lines, ElementsAre(2, 3, 4));
  EXPECT_THAT(parsed("a,b\n1,2\n\n\n").lines, ElementsAre(2));
}

TEST(Table, quotes_hold_separators_quotes_and_lines) {
  const Table table = parsed("\"a,b\",w\n1,\"say \"\"x\"\"\nor\"\n2,\"c,d\"\n3,\"\n\"\n");
  EXPECT_THAT(names(table), ElementsAre("a,b", "w"));
  EXPECT_THAT(table.columns[1].categories, ElementsAre("c,d", "say \"x\"\nor"));
  EXPECT_THAT(table.columns[1].codes, ElementsAre(1, 0, -1));
  EXPECT_THAT(table.lines, ElementsAre(2, 4, 5));
  EXPECT_THAT(refusal("a,b\n1,\"x\n\n\n\"\n2\n"), HasSubstr("line 6: 1 cell"));
  EXPECT_THAT(refusal("a,b\n1,\"x\n2,3\n"), HasSubstr("line 2: a quote is opened and never closed"));
  EXPECT_THAT(refusal("a,b\n1,\"x\"y\n"), HasSubstr("line 2: a cell goes on behind its closing quote"));
  EXPECT_THAT(refusal("a,b\n1,x\"y\"\n"), HasSubstr("line 2: a quote inside a cell"));
}

TEST(Table, line_ends) {
  for (const char* end : {"\n", "\r\n", "\r"}) {
    const Table table = parsed(fmt::format("a,w{0}1,x{0}3,\"x{0}y\"{0}", end));
    EXPECT_EQ(table.rows(), 2U);
    EXPECT_THAT(table.columns[0].numbers, ElementsAre(1, 3));
    EXPECT_THAT(table.lines, ElementsAre(2, 3));
    EXPECT_EQ(table.columns[1].categories.back(), fmt::format("x{}y", end));
  }
}

TEST(Table, bytes_that_are_no_text) {
  EXPECT_THAT(refusal("a,b\n1,2\n3,\xff\n"), AllOf(HasSubstr("line 3: byte 10"), HasSubstr("0xff")));
  EXPECT_THAT(refusal(std::string_view("a,b\n1,\0\n", 8)), HasSubstr("line 2: holds a byte 0"));
  EXPECT_THAT(refusal("\xff\xfe\x61"), HasSubstr("line 1: byte 0"));
}

TEST(Table, g36_numbers) {
  EXPECT_EQ(number("3.14"), 3.14);
  EXPECT_EQ(number("1e-3"), 1e-3);
  EXPECT_EQ(number("+2"), 2.0);
  EXPECT_EQ(number(" 4 "), 4.0);
  EXPECT_EQ(number(".5"), 0.5);
  EXPECT_EQ(number("-.5"), -0.5);
  EXPECT_EQ(number("5."), 5.0);
  EXPECT_EQ(number("9007199254740991"), 9007199254740991.0);
}

TEST(Table, g36_what_is_no_number) {
  for (const char* cell :
       {"1.5abc", "0x10", "1_000", "1.2.3", "+-2", "--1", "1e", "5 6", "12:30", "3rd", "1-2"}) {
    EXPECT_THAT(refusal(fmt::format("t,y\n0,1\n1,{}\n", cell)), HasSubstr("line 3, column y: ")) << cell;
  }
  for (const char* cell : {"1.5abc", "0x10", "1_000", "3rd", "-inf", "1e400"})
    EXPECT_THAT(refusal(fmt::format("t,y\n0,{0}\n1,{0}\n", cell)), HasSubstr("line 2, column y: ")) << cell;
  EXPECT_THAT(refusal("t,y\n0,1e400\n"), HasSubstr("range"));
  EXPECT_THAT(refusal("t,y\n0,Infinity\n"), HasSubstr("not finite"));
  EXPECT_THAT(refusal("1,2\n3,1.5abc\n"), HasSubstr("line 2, column 2"));
  EXPECT_THAT(refusal("1,2.5abc\n3,4\n"), HasSubstr("line 1"));
}

TEST(Table, g36_separators) {
  EXPECT_THAT(refusal("t,y\n0,\"1,234.5\"\n"), AllOf(HasSubstr("thousands"), HasSubstr("1234.5")));
  EXPECT_THAT(refusal("t,y\n0,1,234.5\n"), HasSubstr("line 2: 3 cells, expected 2"));
  EXPECT_THAT(refusal("t;y\n0;3,14\n"),
              AllOf(HasSubstr("line 2, column y:"), HasSubstr("decimal comma"), HasSubstr("3.14")));
  EXPECT_THAT(refusal("0,5;3,14\n1,5;2,7\n"), HasSubstr("line 1"));
  EXPECT_THAT(parsed("t;y\n0;3.14\n").columns[1].numbers, ElementsAre(3.14));
  EXPECT_THAT(parsed("t\ty\n0\t3.14\n1\t\n").columns[1].numbers, ElementsAre(3.14, IsNan()));
  EXPECT_THAT(names(parsed("\"a;b;c\",d\n1,2\n")), ElementsAre("a;b;c", "d"));
}

TEST(Table, g36_locale) {
  const std::string old = std::setlocale(LC_ALL, nullptr);
  if (std::setlocale(LC_ALL, "de_DE.UTF-8") == nullptr)
    GTEST_SKIP() << "the locale de_DE.UTF-8 is not installed";
  const std::locale before = std::locale::global(std::locale("de_DE.UTF-8"));
  EXPECT_EQ(number("3.14"), 3.14);
  EXPECT_THAT(refusal("t;y\n0;3,14\n"), HasSubstr("decimal comma"));
  EXPECT_THAT(as_words(parsed("y\n2.5\n").columns[0]).categories, ElementsAre("2.5"));
  std::locale::global(before);
  std::setlocale(LC_ALL, old.c_str());
}

TEST(Table, dates) {
  const Column days = parsed("d\n1970-01-02\n2012-02-29\n1969-12-31\nNA\n").columns[0];
  EXPECT_EQ(days.kind, ColumnKind::kDate);
  EXPECT_THAT(days.numbers, ElementsAre(1, 15399, -1, IsNan()));
  EXPECT_THAT(refusal("d\n2012-02-30\n"), HasSubstr("line 2, column d: \"2012-02-30\" is no day"));
  EXPECT_THAT(refusal("d\n2012-01-31\n7\n"),
              HasSubstr("line 3, column d: \"7\" is a number, expected a date"));
  EXPECT_THAT(as_words(days).categories, ElementsAre("1969-12-31", "1970-01-02", "2012-02-29"));
}

TEST(Table, columns_of_two_kinds) {
  EXPECT_THAT(refusal("t,y\n0,1\n1,2\n2,low\n"),
              HasSubstr("line 4, column y: \"low\" is a word, expected a number as in line 2"));
  EXPECT_THAT(refusal("t,y\n0,low\n1,2\n"),
              HasSubstr("line 3, column y: \"2\" is a number, expected a word"));
  EXPECT_THAT(refusal("t,y\n0,low\n1,2x\n"), HasSubstr("line 3, column y: \"2x\""));
  EXPECT_EQ(parsed("t,y\n0,\n1,NA\n").columns[1].kind, ColumnKind::kNumber);
}

TEST(Table, names_are_distinct_and_not_empty) {
  EXPECT_THAT(refusal("a,a\n1,2\n"), HasSubstr("two columns are named \"a\""));
  EXPECT_THAT(refusal("a,\n1,2\n"), HasSubstr("column 2 of 2 has no name"));
}

TEST(Table, words_in_order) {
  const Column words = parsed("w\nrain\nfog\n\nrain\n").columns[0];
  EXPECT_THAT(words.categories, ElementsAre("fog", "rain"));
  EXPECT_THAT(words.codes, ElementsAre(1, 0, -1, 1));
  const Column numbers = as_words(parsed("y\n10\n-0\n2.5\n\n0\n").columns[0]);
  EXPECT_THAT(numbers.categories, ElementsAre("0", "2.5", "10"));
  EXPECT_THAT(numbers.codes, ElementsAre(2, 0, 1, -1, 0));
}

TEST(Table, an_unknown_column_is_answered_with_the_nearest) {
  const Table table = parsed("year,volume\n1,2\n");
  try {
    find_column(table, "volme", "task");
    ADD_FAILURE();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(
        error.what(),
        "[task] \"volme\" is no column of f.csv (did you mean volume?): expected one of year, volume");
  }
}

TEST(Table, a_hundred_thousand_rows) {
  std::string bytes = "date,a,b,w\n";
  for (int i = 0; i < 100000; ++i)
    bytes += fmt::format("2012-01-{:02},{},{}.25,w{}\n", i % 31 + 1, i, i, i % 7);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(parsed(bytes).rows(), 100000U);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  RecordProperty("milliseconds", static_cast<int>(1000 * seconds.count()));
  EXPECT_LT(seconds.count(), 10.0);  // sanitizers and a busy machine; 0.1 s otherwise
}

TEST(Table, files) {
  EXPECT_THROW(read_table("no/such.csv"), InputMissing);
  const Table nile = read_table(HEADTORCH_SOURCE_DIR "/data/nile.csv");
  EXPECT_EQ(nile.rows(), 100U);
  EXPECT_EQ(find_column(nile, "volume_1e8_m3", "task").numbers.front(), 1120.0);
}

}  // namespace
}  // namespace headtorch::table
