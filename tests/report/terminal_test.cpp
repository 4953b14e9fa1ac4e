#include "src/report/terminal.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <regex>
#include <sstream>

#include "src/core/error.hpp"
#include "src/report/maps.hpp"
#include "src/report/text.hpp"
#include "tests/report/samples.hpp"

namespace headtorch::report {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

std::string without_colours(const std::string& text) {
  return std::regex_replace(text, std::regex("\x1b\\[[0-9;]*m"), "");
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

TEST(Terminal, G13_queries_down_and_keys_across) {
  EXPECT_EQ(terminal_picture(g13_maps(), {}),
            "copy, layer 0, step 600, sample 0\n"
            "3 queries down, 3 keys across\n"
            "\n"
            "head 0\n"
            "entropy 0.531\n"
            "  A B C \n"
            "A @@    \n"
            "B --##  \n"
            "C ::--++\n"
            "\n"
            "0 [ .:-=+*#%@] 1\n");
}

TEST(Terminal, colours_are_those_of_the_map) {
  const std::string text = terminal_picture(g13_maps(), {.colour = TerminalColour::kTrueColour});
  const auto background = [](double place) {
    const Rgb c = viridis(place);
    return fmt::format("\x1b[48;2;{};{};{}m  ", c.r, c.g, c.b);
  };
  EXPECT_THAT(text, HasSubstr("A " + background(1) + background(0) + "  \x1b[0m\n"));
  EXPECT_THAT(text, HasSubstr("C " + background(0.2F) + background(0.3F) + background(0.5F) + "\x1b[0m\n"));
}

TEST(Terminal, G17_long_sequences_are_folded_and_say_so) {
  const AttentionMaps maps = shifted_maps(2, 500);
  for (const TerminalColour colour : {TerminalColour::kPlain, TerminalColour::kTrueColour}) {
    for (const std::int64_t columns : {20, 40, 80, 200}) {
      const std::string text =
          without_colours(terminal_picture(maps, {.columns = columns, .colour = colour}));
      EXPECT_THAT(text, AllOf(HasSubstr("folded to"), HasSubstr("500 queries"), HasSubstr("head 1")));
      for (const std::string& line : lines_of(text)) {
        if (columns >= 40) {  // the sentences themselves need 40
          EXPECT_LE(display_width(line), columns) << line;
        }
      }
    }
  }
}

TEST(Terminal, folding_keeps_the_largest_weight_of_a_block) {
  std::vector<float> values(100 * 100, 0.0F);
  for (std::size_t i = 0; i < 100; ++i) {
    values[i * 100 + i] = 1.0F;
  }
  values[99] = 0.25F;  // query 0, key 99
  const auto lines = lines_of(terminal_picture(maps_of(1, 100, 100, values), {.columns = 80}));
  // 4 columns of labels leave 38 marks of two characters: blocks of 3 x 3, 34 a side.
  ASSERT_GE(lines.size(), 34U + 6U);
  EXPECT_EQ(lines[2], "folded to 34 x 34, a mark is the largest of 3 x 3, numbered by position");
  EXPECT_EQ(lines[7], "  0 @@" + std::string(64, ' ') + "--");
  EXPECT_EQ(lines[8], "  3   @@" + std::string(64, ' '));
}

TEST(Terminal, half_blocks_hold_two_queries_a_line) {
  const auto text = without_colours(
      terminal_picture(shifted_maps(1, 61), {.columns = 80, .colour = TerminalColour::kTrueColour}));
  EXPECT_THAT(text, AllOf(HasSubstr("two queries a line"), Not(HasSubstr("folded"))));
  std::size_t rows = 0;
  for (const std::string& line : lines_of(text)) {
    rows += line.find("\u2580") != std::string::npos;
  }
  EXPECT_EQ(rows, 31U);
}

TEST(Terminal, G17_one_token) {
  for (const TerminalColour colour : {TerminalColour::kPlain, TerminalColour::kTrueColour}) {
    const auto text = without_colours(terminal_picture(shifted_maps(1, 1), {.colour = colour}));
    EXPECT_THAT(text,
                AllOf(HasSubstr("1 query down, 1 key across"), HasSubstr("t0 "), HasSubstr("entropy 0.00")));
  }
}

TEST(Terminal, heads_stand_side_by_side_while_they_fit) {
  const auto lines = lines_of(terminal_picture(shifted_maps(3, 8), {.columns = 80}));
  EXPECT_THAT(lines[3], testing::MatchesRegex("head 0 +head 1 +head 2 *"));
  const auto narrow = lines_of(terminal_picture(shifted_maps(3, 8), {.columns = 30}));
  EXPECT_THAT(narrow, testing::IsSupersetOf({"head 0", "head 1", "head 2"}));
}

TEST(Terminal, blind_rows_and_no_numbers_have_marks) {
  const auto text = terminal_picture(maps_of(1, 2, 2, {0, 0, std::nanf(""), 1}), {});
  EXPECT_THAT(text,
              AllOf(HasSubstr("t0 //////\n"), HasSubstr("t1 ???@@@\n"), HasSubstr("1 row sees nothing\n")));
}

TEST(Terminal, tokens_cannot_send_escape_sequences) {
  const auto text = terminal_picture(maps_of(1, 2, 2, {1, 0, 0, 1}, {"\x1b[2J", "中\n"}), {});
  EXPECT_THAT(text, Not(AnyOf(HasSubstr("\x1b"), HasSubstr("中\n"))));
}

TEST(Terminal, one_head_and_other_ranges) {
  const AttentionMaps maps = maps_of(2, 1, 2, {0.5F, 0.5F, 0.0F, 0.5F});
  const auto text = terminal_picture(maps, {.head = 1, .color_range = ColorRange::kHead});
  EXPECT_THAT(text, AllOf(HasSubstr("head 1"), Not(HasSubstr("head 0")), HasSubstr("t1    @@@\n"),
                          HasSubstr("largest")));
  EXPECT_THAT(terminal_picture(maps, {.color_range = ColorRange::kLog}), HasSubstr("log"));
}

TEST(Terminal, refuses_what_is_not_there) {
  EXPECT_THROW(terminal_picture(g13_maps(), {.columns = 19}), ConfigError);
  EXPECT_THROW(terminal_picture(g13_maps(), {.head = 1}), ConfigError);
  EXPECT_THROW(terminal_picture(g13_maps(), {.layer = -1}), ConfigError);
}

}  // namespace
}  // namespace headtorch::report
