#include "src/tasks/repeated_tokens.hpp"

#include <gmock/gmock.h>

#include <set>

namespace headtorch::tasks {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

TaskShape shape(std::int64_t n_symbols, std::int64_t seq_len) {
  TaskShape made;
  made.n_symbols = n_symbols;
  made.seq_len = seq_len;
  return made;
}

TEST(RepeatedTokens, second_half_repeats_the_first_and_tokens_in_a_half_are_distinct) {
  for (const std::int64_t length : {4, 9, 16}) {
    for (const auto& row : repeated_tokens(shape(10, length), 20, 3)) {
      const auto period = static_cast<std::size_t>(length / 2);
      ASSERT_THAT(row, SizeIs(2 * period));
      std::set<std::int64_t> first;
      for (std::size_t i = 0; i < period; ++i) {
        EXPECT_EQ(row[i], row[i + period]);
        EXPECT_GE(row[i], 0);
        EXPECT_LT(row[i], 10);
        first.insert(row[i]);
      }
      EXPECT_THAT(first, SizeIs(period));
    }
  }
}

TEST(RepeatedTokens, a_small_vocabulary_is_drawn_with_repeats) {
  const auto rows = repeated_tokens(shape(3, 20), 4, 1);
  ASSERT_THAT(rows, SizeIs(4));
  EXPECT_THAT(rows[0], SizeIs(20));
  EXPECT_NE(rows[0], rows[1]);
}

TEST(RepeatedTokens, row_i_depends_on_the_seed_and_i_alone) {
  const auto few = repeated_tokens(shape(10, 16), 2, 5), more = repeated_tokens(shape(10, 16), 8, 5);
  EXPECT_EQ(few[1], more[1]);
  EXPECT_NE(repeated_tokens(shape(10, 16), 2, 6), few);
}

TEST(RepeatedTokens, nothing_to_repeat_gives_no_rows) {
  EXPECT_THAT(repeated_tokens(shape(10, 3), 2, 1), IsEmpty());
  EXPECT_THAT(repeated_tokens(shape(1, 16), 2, 1), IsEmpty());
}

}  // namespace
}  // namespace headtorch::tasks
