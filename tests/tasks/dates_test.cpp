#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "src/tasks/date_formats.hpp"
#include "tests/support/errors.hpp"
#include "tests/tasks/examples.hpp"

namespace headtorch::tasks {
namespace {

using test::make;
using test::make_with;
using test::Row;
using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

std::string text_of(const Row& tokens, const Task& task) {
  std::string text;
  for (const std::int64_t token : tokens) {
    const std::string character = task.source_token_text(token);
    text += character == "\u2423" ? " " : character;
  }
  return text;
}

/// Reads any of the formats without knowing which it is: numbers and words, in whatever order; a number of
/// four digits is the year, the one of eight is all three.
std::string oracle(const std::string& text) {
  static const std::map<std::string, int> kMonths = {
      {"jan", 1}, {"feb", 2},  {"mar", 3},  {"apr", 4},  {"may", 5}, {"jun", 6}, {"jul", 7}, {"aug", 8},
      {"sep", 9}, {"oct", 10}, {"nov", 11}, {"dec", 12}, {"i", 1},   {"ii", 2},  {"iii", 3}, {"iv", 4},
      {"v", 5},   {"vi", 6},   {"vii", 7},  {"viii", 8}, {"ix", 9},  {"x", 10},  {"xi", 11}, {"xii", 12}};
  std::vector<std::string> parts;
  int kind = 0;
  for (const char c : text) {
    const int now = std::isdigit(static_cast<unsigned char>(c))   ? 1
                    : std::isalpha(static_cast<unsigned char>(c)) ? 2
                                                                  : 0;
    if (now != kind && now != 0) parts.emplace_back();
    if (now != 0) parts.back() += static_cast<char>(std::tolower(c));
    kind = now;
  }
  int year = 0, month = 0;
  std::vector<int> small;
  for (const std::string& part : parts) {
    if (std::isdigit(static_cast<unsigned char>(part[0]))) {
      const int number = std::stoi(part);
      if (part.size() == 8) {
        year = number / 10000;
        small = {number / 100 % 100, number % 100};
      } else {
        (part.size() == 4 ? year = number : small.emplace_back(number));
      }
    } else if (const auto roman = kMonths.find(part); roman != kMonths.end()) {
      month = roman->second;
    } else if (const auto name = kMonths.find(part.substr(0, 3)); name != kMonths.end() && part != "monday") {
      month = name->second;
    }
  }
  if (month == 0) {  // all in numbers: the year leads, then from large to small
    month = small.front();
    small.erase(small.begin());
  }
  char iso[40];
  std::snprintf(iso, sizeof iso, "%04d-%02d-%02d", year, month, small.at(0));
  return iso;
}

TEST(Dates, an_oracle_that_reads_the_text_scores_1) {
  const auto task = make("dates");
  const Batch batch = task->batch(Split::kTrain, 0, 20000);
  for (std::int64_t i = 0; i < batch.examples; ++i) {
    const std::string text = text_of(test::source_of(batch, i), *task);
    std::string answer;
    for (const std::int64_t label : test::labels_of(batch, i)) answer += task->label_text(label);
    ASSERT_EQ(answer, oracle(text)) << text;
    const Row target = test::tokens_of(batch, i), labels = test::labels_of(batch, i);
    ASSERT_EQ(target[0], task->shape().start);
    ASSERT_TRUE(std::equal(target.begin() + 1, target.end(), labels.begin()));
  }
}

TEST(Dates, no_text_stands_for_two_dates) {
  std::map<std::string, std::string> known;
  for (auto day = std::chrono::sys_days(2023y / 1 / 1); day < std::chrono::sys_days(2025y / 1 / 1);
       day += std::chrono::days(1)) {
    for (std::int64_t format = 0; format < kDateFormats; ++format) {
      const std::string iso = iso_text(day);
      EXPECT_EQ(known.emplace(date_text(day, format), iso).first->second, iso);
    }
  }
}

TEST(Dates, the_15_formats) {
  const std::chrono::year_month_day date = 2026y / 11 / 3;  // a Tuesday
  std::vector<std::string> texts;
  for (std::int64_t format = 0; format < kDateFormats; ++format) texts.push_back(date_text(date, format));
  EXPECT_THAT(
      texts, ::testing::ElementsAre("3 November 2026", "November 3, 2026", "3 Nov 2026", "Nov 3, 2026",
                                    "Tuesday, 3 November 2026", "Tuesday, November 3, 2026", "Tue 3 Nov 2026",
                                    "3rd of November 2026", "November 3rd, 2026", "03-Nov-2026", "2026/11/03",
                                    "2026.11.3", "20261103", "3.XI.2026", "2026 November 3"));
  EXPECT_EQ(iso_text(date), "2026-11-03");
  EXPECT_EQ(date_text(2000y / 2 / 11, 7), "11th of February 2000");
  EXPECT_EQ(date_text(2000y / 2 / 22, 7), "22nd of February 2000");
  EXPECT_EQ(date_text(1900y / 1 / 1, 4), "Monday, 1 January 1900");
}

TEST(Dates, the_same_date_is_never_in_two_splits) {
  std::map<Row, Split> known;
  std::set<std::string> years;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const auto task = make("dates", seed);
    for (const Split split : {Split::kTrain, Split::kValidation, Split::kTest}) {
      const std::int64_t n = split == Split::kTrain ? 50000 : task->size(split);
      const Batch batch = task->batch(split, 0, n);
      for (std::int64_t i = 0; i < n; ++i) {
        ASSERT_EQ(known.emplace(test::labels_of(batch, i), split).first->second, split);
        std::string year;
        for (std::size_t k = 0; k < 4; ++k) year += task->label_text(test::labels_of(batch, i)[k]);
        years.insert(year);
      }
    }
  }
  EXPECT_EQ(*years.begin(), "1900");
  EXPECT_EQ(*years.rbegin(), "2099");
  EXPECT_EQ(years.size(), 200);
}

TEST(Dates, sources_have_up_to_29_characters_and_all_occur) {
  const auto task = make("dates");
  const Batch batch = task->batch(Split::kTrain, 0, 30000);
  EXPECT_EQ(std::ranges::max(batch.source.lengths), task->shape().source.seq_len);
  EXPECT_EQ(std::ranges::min(batch.source.lengths), 8);
  const std::set<std::int64_t> tokens(batch.source.tokens.begin(), batch.source.tokens.end());
  EXPECT_EQ(static_cast<std::int64_t>(tokens.size()), task->shape().source.n_symbols);
}

TEST(Dates, formats_come_evenly) {
  const auto task = make("dates");
  const Batch batch = task->batch(Split::kTrain, 0, 15000);
  int solid = 0, roman = 0;
  for (std::int64_t i = 0; i < batch.examples; ++i) {
    const std::string text = text_of(test::source_of(batch, i), *task);
    solid += std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
    roman += text.find_first_of("IVX") != std::string::npos;
  }
  EXPECT_NEAR(solid, 1000, 150);  // five standard deviations
  EXPECT_NEAR(roman, 1000, 150);
}

TEST(Dates, G33_characters_that_no_date_has_are_refused_by_name) {
  const auto task = make("dates");
  EXPECT_EQ(text_of(task->parse_source("3 Nov 2026"), *task), "3 Nov 2026");
  EXPECT_EQ(task->parse_tokens("2026-"), (Row{3, 1, 3, 7, 0}));
  EXPECT_TRUE(headtorch::test::fails([&] { task->parse_source("3 Ноя 2026"); }, ExitCode::kBadData,
                                     AllOf(HasSubstr("U+041D"), HasSubstr("U+043E"), HasSubstr("dates"))));
  EXPECT_TRUE(
      headtorch::test::fails([&] { task->parse_tokens("2026/"); }, ExitCode::kBadData, HasSubstr("U+002F")));
  EXPECT_TRUE(headtorch::test::fails([&] { task->parse_source(std::string(30, '1')); }, ExitCode::kBadData,
                                     AllOf(HasSubstr("30"), HasSubstr("29"))));
  EXPECT_TRUE(headtorch::test::fails([&] { task->parse_source("\xff"); }, ExitCode::kBadData));
}

TEST(Dates, sizes_are_fixed) {
  EXPECT_TRUE(headtorch::test::fails([] { make_with({.name = "dates", .seq_len = 11}); },
                                     ExitCode::kBadConfig,
                                     AllOf(HasSubstr("seq_len = 11"), HasSubstr("10"))));
  EXPECT_TRUE(headtorch::test::fails([] { make_with({.name = "dates", .n_symbols = 11}); },
                                     ExitCode::kBadConfig,
                                     AllOf(HasSubstr("n_symbols = 11"), HasSubstr("12"))));
}

}  // namespace
}  // namespace headtorch::tasks
