#include "src/report/ticks.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace headtorch::report {
namespace {

using testing::SizeIs;

std::vector<std::string> tokens_of(std::int64_t n, const std::string& pattern) {
  std::vector<std::string> tokens;
  for (std::int64_t i = 0; i < n; ++i) {
    tokens.push_back(fmt::format(fmt::runtime(pattern), i));
  }
  return tokens;
}

TEST(Ticks, labels_never_overlap_at_any_length_and_cell) {
  for (const std::int64_t n : {1, 2, 7, 16, 33, 64, 100, 257, 512}) {
    for (const double cell : {1.0, 2.0, 5.0, 8.0, 10.0, 13.0, 21.0, 30.0}) {
      for (const char* pattern :
           {"{}", "token-{}", "中{}", "😀", "i", "a token much longer than any cell {}"}) {
        for (const Axis axis : {Axis::kQuery, Axis::kKey}) {
          const AxisTicks ticks = place_ticks(tokens_of(n, pattern), cell, axis);
          ASSERT_FALSE(ticks.ticks.empty());
          EXPECT_EQ(ticks.ticks.front().position, 0);
          for (std::size_t i = 1; i < ticks.ticks.size(); ++i) {
            EXPECT_EQ(ticks.ticks[i].position - ticks.ticks[i - 1].position, ticks.every);
            ASSERT_LE(ticks.ticks[i - 1].end, ticks.ticks[i].begin + 1e-9)
                << n << " " << cell << " " << pattern;
          }
        }
      }
    }
  }
}

TEST(Ticks, G17_thinned_labels_say_their_position) {
  const AxisTicks ticks = place_ticks(tokens_of(500, "x{}"), 1.0, Axis::kKey);
  EXPECT_EQ(ticks.every, 20);
  ASSERT_THAT(ticks.ticks, SizeIs(25));
  EXPECT_EQ(ticks.ticks[2].text, "40: x40");
  EXPECT_DOUBLE_EQ((ticks.ticks[2].begin + ticks.ticks[2].end) / 2, 40.5);
}

TEST(Ticks, all_tokens_are_labelled_while_they_can_be_read) {
  for (const Axis axis : {Axis::kQuery, Axis::kKey}) {
    const AxisTicks ticks = place_ticks(tokens_of(32, "{}"), 20.0, axis);
    EXPECT_THAT(ticks.ticks, SizeIs(32));
    EXPECT_EQ(ticks.ticks[31].text, "31");
    EXPECT_EQ(ticks.writing, Writing::kAcross);
    EXPECT_GE(ticks.font, 7.5);
  }
  EXPECT_EQ(place_ticks(tokens_of(8, "a longer one"), 20.0, Axis::kKey).writing, Writing::kUp);
}

TEST(Ticks, unprintable_and_long_tokens_are_shown_in_a_readable_way) {
  const AxisTicks ticks = place_ticks({"\n", "", "abcdefghijklmnopqrstuvwxyz"}, 30.0, Axis::kQuery);
  EXPECT_EQ(ticks.ticks[0].text, "↵");
  EXPECT_EQ(ticks.ticks[1].text, "∅");
  EXPECT_EQ(ticks.ticks[2].text, "abcdefghijklm…");
}

}  // namespace
}  // namespace headtorch::report
