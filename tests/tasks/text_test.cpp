#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <set>
#include <vector>

#include "src/tasks/task.hpp"
#include "src/tasks/text_file.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/temp_folder.hpp"

namespace headtorch::tasks {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kLine = "na\u00efve \u041f\u0440\u0438\u0432\u0435\u0442 \U0001F600";
const std::string kByteOrderMark = "\xef\xbb\xbf";

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

std::unique_ptr<Task> open_text(const std::filesystem::path& file, std::int64_t seq_len = 8,
                                std::uint64_t seed = 1) {
  return make_task({"text", seq_len, 0, file.string()}, seed);
}

TEST(Text, G34_code_points_not_bytes) {
  EXPECT_EQ((kLine + "\r\n").size(), 26);
  const std::u32string text = decode_text(kLine + "\r\n", "t");
  EXPECT_EQ(text.size(), 15);
  EXPECT_EQ(std::set<char32_t>(text.begin(), text.end()).size(), 14);
  EXPECT_EQ(text[2], U'\u00ef');
  EXPECT_EQ(text[13], U'\U0001F600');
  EXPECT_EQ(text[14], U'\n');
}

TEST(Text, G34_latin_e_and_cyrillic_ie_are_different_characters) {
  EXPECT_NE(decode_text("e", "t"), decode_text("\u0435", "t"));
}

TEST(Text, G34_byte_order_mark_and_line_ends_change_nothing) {
  const test::TempFolder folder;
  const std::string lf = repeated(kLine + "\n", 30), crlf = repeated(kLine + "\r\n", 30);
  const auto plain = open_text(folder.file("lf.txt", lf));
  EXPECT_EQ(plain->shape().n_symbols, 14);
  for (const std::string& bytes : {kByteOrderMark + lf, crlf, kByteOrderMark + crlf}) {
    const auto other = open_text(folder.file("other.txt", bytes));
    EXPECT_EQ(other->shape().n_symbols, plain->shape().n_symbols);
    for (std::int64_t token = 0; token < 14; ++token)
      EXPECT_EQ(other->token_text(token), plain->token_text(token));
    for (const Split split : {Split::kTrain, Split::kValidation, Split::kTest}) {
      const std::int64_t n = split == Split::kTrain ? 50 : plain->size(split);
      EXPECT_EQ(other->batch(split, 0, n).tokens, plain->batch(split, 0, n).tokens);
      EXPECT_EQ(other->batch(split, 0, n).labels, plain->batch(split, 0, n).labels);
    }
  }
}

TEST(Text, tokens_are_typed_as_they_were_read) {
  const test::TempFolder folder;
  const std::string odd = "a\u0301 \t\u00a0\u200f<&\r\x1b\n" + kLine;
  const auto task = open_text(folder.file("t", repeated(odd, 20)));
  EXPECT_EQ(typed(*task, task->parse_tokens(odd)), odd);
}

TEST(Text, G33_the_first_prompt_is_a_character_that_occurs) {
  const test::TempFolder folder;
  const auto prompt_of = [&](const std::string& text) {
    const auto task = open_text(folder.file("t", text));
    return typed(*task, task->first_prompt());
  };
  EXPECT_EQ(prompt_of(repeated("31415\n926\n", 20)), "\n");
  EXPECT_EQ(prompt_of(repeated(" \ttwo", 50)), " ");
  EXPECT_EQ(prompt_of(repeated("\U0001F600b", 90)), "\U0001F600");
  EXPECT_EQ(prompt_of(std::string(200, 'a')), "a");
}

TEST(Text, a_carriage_return_alone_is_a_character) { EXPECT_EQ(decode_text("a\rb\r\r\n", "t"), U"a\rb\r\n"); }

TEST(Text, a_byte_order_mark_inside_is_a_character) { EXPECT_EQ(decode_text("a\ufeff", "t"), U"a\ufeff"); }

TEST(Text, G34_broken_utf8_is_refused_with_its_byte_offset) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"caf\xc3", "byte 3 (0xc3)"},                 // ends in the middle of a character
      {"ab\xf0\x9f\x98", "byte 2 (0xf0)"},          // the same, one byte short
      {kByteOrderMark + "a\xff", "byte 4 (0xff)"},  // counted from the start of the file
      {"\x80", "byte 0 (0x80)"},                    // continues nothing
      {"a\xc0\x80", "byte 1 (0xc0)"},               // too long a form of U+0000
      {"a\xe0\x80\xaf", "byte 1 (0xe0)"},           // too long a form of '/'
      {"a\xed\xa0\x80", "byte 1 (0xed)"},           // half of a surrogate pair
      {"a\xf4\x90\x80\x80", "byte 1 (0xf4)"},       // beyond U+10FFFF
      {"\u00ef\xc3(", "byte 2 (0xc3)"},             // a letter where a continuation belongs
      {std::string("\xff\xfe"
                   "a\0",
                   4),
       "byte 0 (0xff)"},  // UTF-16
  };
  const test::TempFolder folder;
  for (const auto& [bytes, offset] : cases) {
    const auto file = folder.file("broken.txt", bytes);
    EXPECT_TRUE(test::fails([&, path = file] { open_text(path); }, ExitCode::kBadData,
                            AllOf(HasSubstr("broken.txt"), HasSubstr(offset), HasSubstr("UTF-8"))));
  }
}

TEST(Text, G34_empty_absent_and_odd_files_are_refused) {
  const test::TempFolder folder;
  for (const std::string& nothing : {std::string(), kByteOrderMark}) {
    const auto file = folder.file("empty.txt", nothing);
    EXPECT_TRUE(test::fails([&] { open_text(file); }, ExitCode::kBadData, HasSubstr("is empty")));
  }
  EXPECT_TRUE(test::fails([&] { open_text(folder.path() / "absent.txt"); }, ExitCode::kInputMissing,
                          HasSubstr("absent.txt")));
  EXPECT_TRUE(
      test::fails([&] { open_text(folder.path()); }, ExitCode::kInputMissing, HasSubstr("regular file")));
  EXPECT_TRUE(test::fails([] { open_text(""); }, ExitCode::kBadConfig, HasSubstr("--file")));
}

TEST(Text, G34_a_zero_byte_is_a_character) {
  const test::TempFolder folder;
  const auto task = open_text(folder.file("zero.txt", repeated(std::string("a\0b", 3), 50)));
  EXPECT_EQ(task->shape().n_symbols, 3);
  EXPECT_EQ(task->token_text(0), "U+0000");
}

TEST(Text, G33_one_distinct_character_is_enough) {
  const test::TempFolder folder;
  const auto task = open_text(folder.file("one.txt", std::string(200, 'x')));
  EXPECT_EQ(task->shape().n_symbols, 1);
  EXPECT_EQ(task->batch(Split::kTrain, 0, 1).labels, std::vector<std::int64_t>(8, 0));
}

TEST(Text, G33_unknown_characters_are_named) {
  const test::TempFolder folder;
  const auto task = open_text(folder.file("digits.txt", repeated("0123456789\n", 30)));
  EXPECT_EQ(task->parse_tokens("7"), (std::vector<std::int64_t>{8}));
  EXPECT_EQ(task->parse_tokens("9\r\n0"), (std::vector<std::int64_t>{10, 0, 1}));
  EXPECT_TRUE(test::fails([&] { task->parse_tokens(" a a"); }, ExitCode::kBadData,
                          AllOf(HasSubstr("U+0020 U+0061,"), HasSubstr("0 1 2 3"))));
  EXPECT_TRUE(
      test::fails([&] { task->parse_tokens("\U0001F600"); }, ExitCode::kBadData, HasSubstr("U+1F600")));
  EXPECT_TRUE(test::fails([&] { task->parse_tokens("1\xff"); }, ExitCode::kBadData, HasSubstr("byte 1")));
  EXPECT_TRUE(test::fails([&] { task->parse_tokens(""); }, ExitCode::kBadData, HasSubstr("is empty")));
}

TEST(Text, too_short_a_text_is_refused_with_its_numbers) {
  const test::TempFolder folder;
  EXPECT_NO_THROW(open_text(folder.file("81.txt", std::string(81, 'x'))));  // floor(72.9) = 72, and 9
  const auto shorter = folder.file("80.txt", std::string(80, 'x'));
  EXPECT_TRUE(
      test::fails([&] { open_text(shorter); }, ExitCode::kBadData,
                  AllOf(HasSubstr("80 characters"), HasSubstr("72 for training"),
                        HasSubstr("8 for validation"), HasSubstr("seq_len = 8"), HasSubstr("at least 9"))));
  EXPECT_TRUE(test::fails([&] { open_text(folder.file("1.txt", "x")); }, ExitCode::kBadData));
}

TEST(Text, sizes_out_of_place_are_refused) {
  const test::TempFolder folder;
  const std::string file = folder.file("a.txt", std::string(200, 'x')).string();
  EXPECT_TRUE(test::fails(
      [&] {
        make_task({"text", 8, 5, file}, 1);
      },
      ExitCode::kBadConfig, HasSubstr("n_symbols = 5")));
  EXPECT_TRUE(test::fails(
      [&] {
        make_task({"text", 4097, 0, file}, 1);
      },
      ExitCode::kBadConfig, HasSubstr("4097")));
  EXPECT_TRUE(test::fails(
      [&] {
        make_task({"text", -1, 0, file}, 1);
      },
      ExitCode::kBadConfig, HasSubstr("-1")));
}

TEST(Text, every_validation_character_is_a_label_exactly_once) {
  const test::TempFolder folder;
  for (const int length : {1000, 1001, 1007, 1009, 1010}) {
    std::string text;
    for (int i = 0; i < length; ++i) text += static_cast<char>('a' + i * i % 26);
    const auto task = open_text(folder.file("t.txt", text));
    const auto n_train = static_cast<std::size_t>(length) * 9 / 10;
    for (const Split split : {Split::kValidation, Split::kTest}) {
      const Batch batch = task->batch(split, 0, task->size(split));
      std::string inputs, labels;
      std::size_t padded = 0;
      for (std::size_t i = 0; i < batch.labels.size(); ++i) {
        ASSERT_GE(batch.tokens[i], 0);
        ASSERT_LT(batch.tokens[i], task->shape().n_symbols);
        if (batch.labels[i] == kNotCounted) {
          ++padded;
          continue;
        }
        ASSERT_EQ(padded, 0);  // only the last window is shorter
        inputs += task->token_text(batch.tokens[i]);
        labels += task->token_text(batch.labels[i]);
      }
      EXPECT_EQ(labels, text.substr(n_train));
      EXPECT_EQ(inputs, text.substr(n_train - 1, text.size() - n_train));
      EXPECT_LT(padded, 8);
    }
    EXPECT_FALSE(task->overlap_note().empty());
  }
}

TEST(Text, training_windows_never_touch_the_validation_part_and_reach_all_of_their_own) {
  // 90 different characters for training, each its own symbol, then 10 others.
  std::string text;
  for (int i = 0; i < 100; ++i) text += static_cast<char>(0x20 + (i < 90 ? i : 90));
  const test::TempFolder folder;
  const auto task = open_text(folder.file("t.txt", text));
  const Batch batch = task->batch(Split::kTrain, 0, 5000);
  std::set<std::int64_t> starts, last_labels;
  for (std::int64_t i = 0; i < batch.examples; ++i) {
    const auto first = static_cast<std::size_t>(i * 8);
    starts.insert(batch.tokens[first]);
    last_labels.insert(batch.labels[first + 7]);
    for (std::size_t k = first; k < first + 8; ++k) ASSERT_EQ(batch.labels[k], batch.tokens[k] + 1);
  }
  EXPECT_EQ(*starts.begin(), 0);
  EXPECT_EQ(*last_labels.rbegin(), 89);  // symbol 90 occurs in the validation part alone
  EXPECT_EQ(starts.size(), 82);
}

TEST(Text, example_i_depends_on_seed_and_i_alone) {
  const test::TempFolder folder;
  const auto file = folder.file("t.txt", repeated("the quick brown fox jumps over the lazy dog\n", 20));
  const Batch whole = open_text(file)->batch(Split::kTrain, 0, 20),
              part = open_text(file)->batch(Split::kTrain, 7, 5);
  EXPECT_EQ(part.tokens, std::vector<std::int64_t>(whole.tokens.begin() + 56, whole.tokens.begin() + 96));
  EXPECT_NE(open_text(file, 8, 2)->batch(Split::kTrain, 0, 20).tokens, whole.tokens);
  EXPECT_EQ(open_text(file)->size(Split::kTrain), std::numeric_limits<std::int64_t>::max());
}

TEST(Text, characters_are_shown_so_that_people_see_them) {
  EXPECT_EQ(visible_character(U'a'), "a");
  EXPECT_EQ(visible_character(U'<'), "<");
  EXPECT_EQ(visible_character(U'\u00e9'), "\u00e9");
  EXPECT_EQ(visible_character(U'\u4f60'), "\u4f60");
  EXPECT_EQ(visible_character(U'\u05d0'), "\u05d0");
  EXPECT_EQ(visible_character(U'\U0001F600'), "\U0001F600");
  EXPECT_EQ(visible_character(U' '), "\u2423");
  EXPECT_EQ(visible_character(U'\n'), "\u23ce");
  EXPECT_EQ(visible_character(U'\t'), "\u21e5");
  for (const char32_t hidden : {U'\r', U'\0', U'\x1b', U'\x7f', U'\u0085', U'\u00a0', U'\u200b', U'\u200f',
                                U'\u202e', U'\u2067', U'\u0301', U'\ufeff', U'\ufe0f', U'\u3000'}) {
    EXPECT_EQ(visible_character(hidden), code_point_name(hidden));
  }
  EXPECT_EQ(code_point_name(U'\u202e'), "U+202E");
  EXPECT_EQ(code_point_name(U'\U000E0001'), "U+E0001");
}

TEST(Text, tiny_shakespeare_has_the_sizes_known_from_nanogpt) {
  const char* shared = std::getenv("HEADTORCH_SHARED");
  const std::filesystem::path file =
      (shared != nullptr ? std::filesystem::path(shared)
                         : std::filesystem::path(HEADTORCH_SOURCE_DIR) / "../shared") /
      "data/tinyshakespeare.txt";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not here (set HEADTORCH_SHARED)";
  const auto task = open_text(file, 0);
  EXPECT_EQ(task->shape().seq_len, 64);
  EXPECT_EQ(task->shape().n_symbols, 65);
  const Batch batch = task->batch(Split::kTest, 0, task->size(Split::kTest));
  EXPECT_EQ(static_cast<std::int64_t>(batch.labels.size()) -
                std::count(batch.labels.begin(), batch.labels.end(), kNotCounted),
            111540);
}

}  // namespace
}  // namespace headtorch::tasks
