#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tests/support/errors.hpp"
#include "tests/tasks/examples.hpp"

// Every rule against labels found in another way; `y` is what a person would answer, position by position.

namespace headtorch::tasks {
namespace {

using test::make;
using test::make_with;
using test::Row;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
constexpr std::int64_t n = kNotCounted;

using Oracle = Row (*)(const Row& tokens);

void expect_oracle_scores_1(const Task& task, Oracle oracle) {
  for (const Split split : {Split::kTrain, Split::kTest}) {
    const Batch batch = task.batch(split, 0, 5000);
    for (std::int64_t i = 0; i < batch.examples; ++i) {
      const Row tokens = test::tokens_of(batch, i);
      ASSERT_EQ(test::labels_of(batch, i), oracle(tokens)) << ::testing::PrintToString(tokens);
    }
  }
}

::testing::AssertionResult refused(const TaskOptions& options,
                                   const ::testing::Matcher<std::string>& message) {
  return headtorch::test::fails([&] { make_with(options); }, ExitCode::kBadConfig, message);
}

std::int64_t number(const Row& tokens, std::size_t first, std::size_t digits) {
  std::int64_t value = 0;
  for (std::size_t i = first; i < first + digits; ++i) value = 10 * value + tokens[i];
  return value;
}

template <bool reversed>
Row add_oracle(const Row& tokens) {
  const std::size_t digits = tokens.size() / 3;
  std::string sum = std::to_string(number(tokens, 0, digits) + number(tokens, digits, digits));
  sum.insert(0, digits + 1 - sum.size(), '0');
  if (reversed) std::reverse(sum.begin(), sum.end());
  Row y(2 * digits - 1, n);
  for (const char c : sum) y.push_back(c - '0');
  return y;
}

TEST(Add, sums_are_right_in_both_orders_and_answers_are_inputs_one_later) {
  for (const std::int64_t digits : {1, 2, 3, 10}) {
    const auto reversed = make_with({.name = "add", .seq_len = 3 * digits});
    const auto plain = make_with({.name = "add", .seq_len = 3 * digits, .digit_order = DigitOrder::kPlain});
    expect_oracle_scores_1(*reversed, add_oracle<true>);
    expect_oracle_scores_1(*plain, add_oracle<false>);
    for (const auto* task : {&reversed, &plain}) {
      const Batch batch = (*task)->batch(Split::kTrain, 0, 200);
      for (std::int64_t i = 0; i < batch.examples; ++i) {
        const Row x = test::tokens_of(batch, i), y = test::labels_of(batch, i);
        for (std::size_t k = static_cast<std::size_t>(2 * digits); k < x.size(); ++k)
          ASSERT_EQ(x[k], y[k - 1]);
      }
    }
  }
}

/// Labels of the example with these operands, wherever it is drawn.
Row find_labels(const Task& task, const Row& operands, Row& tokens) {
  for (const Split split : {Split::kTrain, Split::kValidation, Split::kTest}) {
    const Batch batch = task.batch(split, 0, split == Split::kTrain ? 100000 : task.size(split));
    for (std::int64_t i = 0; i < batch.examples; ++i) {
      tokens = test::tokens_of(batch, i);
      if (std::equal(operands.begin(), operands.end(), tokens.begin())) return test::labels_of(batch, i);
    }
  }
  return {};
}

TEST(Add, G39_examples) {
  const auto plain = make_with({.name = "add", .seq_len = 6, .digit_order = DigitOrder::kPlain});
  const auto reversed = make_with({.name = "add", .seq_len = 6});
  Row x;
  EXPECT_EQ(find_labels(*plain, {1, 2, 3, 7}, x), (Row{n, n, n, 0, 4, 9}));
  EXPECT_EQ(x, (Row{1, 2, 3, 7, 0, 4}));
  EXPECT_EQ(find_labels(*plain, {8, 5, 5, 0}, x), (Row{n, n, n, 1, 3, 5}));
  EXPECT_EQ(x, (Row{8, 5, 5, 0, 1, 3}));
  EXPECT_EQ(find_labels(*reversed, {1, 2, 3, 7}, x), (Row{n, n, n, 9, 4, 0}));
  EXPECT_EQ(x, (Row{1, 2, 3, 7, 9, 4}));
  EXPECT_EQ(find_labels(*reversed, {8, 5, 5, 0}, x), (Row{n, n, n, 5, 3, 1}));
}

TEST(Add, G39_small_problems_are_split_apart_and_said_to_repeat) {
  const auto two = make_with({.name = "add", .seq_len = 6});
  EXPECT_THAT(two->overlap_note(), HasSubstr("10000 different inputs"));
  std::set<Row> training, tests;
  const Batch train = two->batch(Split::kTrain, 0, 100000), test = two->batch(Split::kTest, 0, 10000);
  for (std::int64_t i = 0; i < train.examples; ++i) training.insert(test::tokens_of(train, i));
  for (std::int64_t i = 0; i < test.examples; ++i) tests.insert(test::tokens_of(test, i));
  EXPECT_GT(training.size(), 7900);
  EXPECT_NEAR(static_cast<double>(tests.size()), 1000.0, 150.0);
  for (const Row& tokens : tests) EXPECT_FALSE(training.contains(tokens));
  EXPECT_EQ(make("add")->overlap_note(), "");
  EXPECT_EQ(make("add")->n_free_running(), 1000);
}

TEST(Add, sizes) {
  EXPECT_EQ(make("add")->shape().seq_len, 9);
  EXPECT_EQ(make_with({.name = "add", .seq_len = 30})->shape().seq_len, 30);
  EXPECT_TRUE(
      refused({.name = "add", .seq_len = 10}, AllOf(HasSubstr("seq_len = 10"), HasSubstr("9 or 12"))));
  EXPECT_TRUE(refused({.name = "add", .seq_len = 4098}, AllOf(HasSubstr("4098"), HasSubstr("4096"))));
  EXPECT_TRUE(refused({.name = "add", .n_symbols = 12}, AllOf(HasSubstr("n_symbols = 12"), HasSubstr("10"))));
}

template <std::size_t pairs>
Row lookup(const Row& tokens) {
  Row y(tokens.size(), n);
  for (std::size_t i = 2 * pairs; i < tokens.size(); ++i) {
    for (std::size_t k = 0; k < 2 * pairs; k += 2) {
      if (tokens[k] == tokens[i]) y[i] = tokens[k + 1];
    }
  }
  return y;
}

TEST(Recall, looking_pairs_up_scores_1_and_every_position_behind_them_counts) {
  expect_oracle_scores_1(*make("recall"), lookup<5>);
  expect_oracle_scores_1(*make_with({.name = "recall", .n_symbols = 40, .n_pairs = 20}), lookup<20>);
  const auto task = make("recall");
  EXPECT_EQ(task->shape().seq_len, 16);
  EXPECT_EQ(task->shape().n_symbols, 20);
  const Batch batch = task->batch(Split::kTrain, 0, 3000);
  for (std::int64_t i = 0; i < batch.examples; ++i) {
    const Row x = test::tokens_of(batch, i), y = test::labels_of(batch, i);
    std::set<std::int64_t> keys;
    for (std::size_t k = 0; k < 10; k += 2) {
      keys.insert(x[k]);
      ASSERT_TRUE(x[k] < 10 && x[k + 1] >= 10);
    }
    ASSERT_EQ(keys.size(), 5);
    ASSERT_EQ(std::count(y.begin(), y.end(), n), 10);
  }
}

TEST(Mqar, looking_pairs_up_scores_1_and_every_key_is_asked_for_once) {
  const auto task = make("mqar");
  expect_oracle_scores_1(*task, lookup<4>);
  EXPECT_EQ(task->shape().n_symbols, 8192);
  EXPECT_EQ(task->shape().seq_len, 64);
  const Batch batch = task->batch(Split::kTrain, 0, 3000);
  std::map<std::size_t, int> distances;
  for (std::int64_t i = 0; i < batch.examples; ++i) {
    const Row x = test::tokens_of(batch, i), y = test::labels_of(batch, i);
    const std::set<std::int64_t> keys = {x[0], x[2], x[4], x[6]};
    ASSERT_EQ(keys.size(), 4);
    std::set<std::int64_t> asked;
    for (std::size_t k = 8; k < x.size(); ++k) {
      if (!keys.contains(x[k])) continue;
      ASSERT_TRUE(asked.insert(x[k]).second);
      ASSERT_NE(y[k], n);
      ++distances[k];
    }
    ASSERT_EQ(asked, keys);
  }
  EXPECT_EQ(distances.begin()->first, 8);
  EXPECT_EQ(distances.rbegin()->first, 62);
  EXPECT_GT(distances[8], 4 * distances[62]);  // most queries come soon, as a power of the distance
}

TEST(Recall, sizes) {
  EXPECT_EQ(make_with({.name = "recall", .n_pairs = 10})->shape().seq_len, 26);
  EXPECT_EQ(make_with({.name = "mqar", .n_pairs = 32})->shape().seq_len, 128);
  EXPECT_TRUE(
      refused({.name = "recall", .n_pairs = 11}, AllOf(HasSubstr("n_pairs = 11"), HasSubstr("1 to 10"))));
  EXPECT_TRUE(refused({.name = "recall", .n_pairs = -1}, HasSubstr("n_pairs = -1")));
  EXPECT_TRUE(refused({.name = "recall", .n_symbols = 21}, HasSubstr("n_symbols = 21: expected an even")));
  EXPECT_TRUE(refused({.name = "recall", .seq_len = 10},
                      AllOf(HasSubstr("seq_len = 10"), HasSubstr("n_pairs = 5"), HasSubstr("11 to 4096"))));
  EXPECT_TRUE(
      refused({.name = "recall", .n_symbols = 4, .n_pairs = 1}, HasSubstr("only 4 different inputs")));
  EXPECT_TRUE(
      refused({.name = "mqar", .seq_len = 15}, AllOf(HasSubstr("seq_len = 15"), HasSubstr("16 to 4096"))));
  EXPECT_TRUE(
      refused({.name = "mqar", .n_pairs = 2000}, AllOf(HasSubstr("n_pairs = 2000"), HasSubstr("1 to 1024"))));
  EXPECT_TRUE(refused({.name = "mqar", .n_symbols = 200000}, HasSubstr("200000")));
}

Row select_oracle(const Row& tokens) {
  Row data, y;
  for (const std::int64_t token : tokens) {
    if (token < 8) data.push_back(token);
    y.push_back(n);
    if (token == 9) {
      y.back() = data.front();
      data.erase(data.begin());
    }
  }
  return y;
}

TEST(Select, reading_the_data_in_order_scores_1) {
  const auto task = make("select");
  expect_oracle_scores_1(*task, select_oracle);
  EXPECT_EQ(task->token_text(7) + task->token_text(8) + task->token_text(9), "7.?");
  EXPECT_EQ(task->parse_tokens("3 . . ?"), (Row{3, 8, 8, 9}));
  const Batch batch = task->batch(Split::kTrain, 0, 7000);
  std::vector<int> places(56, 0);
  for (std::int64_t i = 0; i < batch.examples; ++i) {
    const Row x = test::tokens_of(batch, i);
    ASSERT_EQ(std::count(x.begin(), x.end(), 9), 8);
    for (std::size_t k = 0; k < 56; ++k) places[k] += x[k] < 8;
  }
  for (const int count : places) EXPECT_NEAR(count, 1000, 150);  // five standard deviations
  EXPECT_TRUE(refused({.name = "select", .seq_len = 20, .n_pairs = 11},
                      AllOf(HasSubstr("n_pairs = 11"), HasSubstr("1 to 10"))));
  EXPECT_TRUE(refused({.name = "select", .n_symbols = 3}, HasSubstr("n_symbols = 3: expected 4")));
}

Row dyck_oracle(const Row& tokens) {
  const std::string signs = "()[]{}<>";
  Row y(tokens.size(), n);
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    const char next = signs[static_cast<std::size_t>(tokens[i + 1])];
    if (std::string("([{<").find(next) != std::string::npos) continue;
    std::string open;  // the text so far with every pair crossed out
    for (std::size_t k = 0; k <= i; ++k) {
      open += signs[static_cast<std::size_t>(tokens[k])];
      for (const char* pair : {"()", "[]", "{}", "<>"}) {
        if (open.ends_with(pair)) open.resize(open.size() - 2);
      }
    }
    y[i] = static_cast<std::int64_t>(signs.find(open.back())) + 1;
  }
  return y;
}

TEST(Dyck, the_innermost_open_bracket_decides_and_all_are_closed) {
  for (const std::int64_t n_symbols : {2, 4, 8}) {
    const auto task = make_with({.name = "dyck", .n_symbols = n_symbols});
    expect_oracle_scores_1(*task, dyck_oracle);
    const Batch batch = task->batch(Split::kTrain, 0, 2000);
    for (std::int64_t i = 0; i < batch.examples; ++i) {
      std::int64_t depth = 0;
      for (const std::int64_t token : test::tokens_of(batch, i)) {
        depth += token % 2 == 0 ? 1 : -1;
        ASSERT_GE(depth, 0);
      }
      ASSERT_EQ(depth, 0);
    }
  }
  EXPECT_EQ(make("dyck")->parse_tokens("( [ ] )"), (Row{0, 2, 3, 1}));
}

TEST(Dyck, balanced_sequences_are_equally_likely_and_counted_as_catalan_says) {
  const auto task = make_with({.name = "dyck", .seq_len = 8, .n_symbols = 4});
  EXPECT_THAT(task->overlap_note(), HasSubstr("Only 224 different inputs"));  // 14 * 2^4
  const Batch batch = task->batch(Split::kTrain, 0, 20000);
  std::map<Row, int> counts;
  for (std::int64_t i = 0; i < batch.examples; ++i) ++counts[test::tokens_of(batch, i)];
  const double expected = 20000.0 / static_cast<double>(counts.size());
  for (const auto& [tokens, count] : counts) EXPECT_NEAR(count, expected, 6 * std::sqrt(expected));
  EXPECT_TRUE(refused({.name = "dyck", .seq_len = 31}, HasSubstr("seq_len = 31: expected an even")));
  EXPECT_TRUE(refused({.name = "dyck", .n_symbols = 5}, HasSubstr("n_symbols = 5: expected an even")));
  EXPECT_TRUE(refused({.name = "dyck", .n_symbols = 10}, HasSubstr("n_symbols = 10: expected 2 to 8")));
}

TEST(Modular, answers_solve_the_equation) {
  for (const Operation operation :
       {Operation::kAdd, Operation::kSubtract, Operation::kMultiply, Operation::kDivide}) {
    for (const std::int64_t p : {7, 97}) {
      const auto task = make_with({.name = "modular", .n_symbols = p, .operation = operation});
      const Batch batch = task->batch(Split::kTest, 0, 5000);
      for (std::int64_t i = 0; i < batch.examples; ++i) {
        const Row x = test::tokens_of(batch, i), y = test::labels_of(batch, i);
        const std::int64_t a = x[0], b = x[2], c = y[3];
        ASSERT_EQ(Row(y.begin(), y.end() - 1), (Row{n, n, n}));
        ASSERT_EQ(x[1], p);
        ASSERT_EQ(x[3], p + 1);
        switch (operation) {
          case Operation::kAdd:
            ASSERT_EQ((a + b - c) % p, 0);
            break;
          case Operation::kSubtract:
            ASSERT_EQ((b + c - a) % p, 0);
            break;
          case Operation::kMultiply:
            ASSERT_EQ((a * b - c) % p, 0);
            break;
          case Operation::kDivide:
            ASSERT_NE(b, 0);
            ASSERT_EQ((b * c - a) % p, 0);
        }
      }
    }
  }
  EXPECT_EQ(make("modular")->parse_tokens("5 / 96 ="), (Row{5, 97, 96, 98}));
}

TEST(Modular, half_of_all_pairs_train_and_the_parts_are_apart) {
  const auto task = make("modular");
  EXPECT_THAT(task->overlap_note(), HasSubstr("Only 9312 different inputs"));  // 97 * 96
  std::set<Row> parts[3];
  for (const Split split : {Split::kTrain, Split::kValidation, Split::kTest}) {
    const Batch batch = task->batch(split, 0, split == Split::kTrain ? 100000 : task->size(split));
    for (std::int64_t i = 0; i < batch.examples; ++i)
      parts[static_cast<int>(split)].insert(test::tokens_of(batch, i));
  }
  EXPECT_NEAR(static_cast<double>(parts[0].size()), 4656.0, 250.0);  // five standard deviations
  std::set<Row> all;
  for (const auto& part : parts) all.insert(part.begin(), part.end());
  EXPECT_EQ(all.size(), parts[0].size() + parts[1].size() + parts[2].size());
  EXPECT_TRUE(refused({.name = "modular", .n_symbols = 96}, HasSubstr("n_symbols = 96: expected a prime")));
  EXPECT_NO_THROW(make_with({.name = "modular", .n_symbols = 96, .operation = Operation::kMultiply}));
  EXPECT_TRUE(refused({.name = "modular", .n_symbols = 5}, HasSubstr("n_symbols = 5: expected 7 to 9973")));
  EXPECT_TRUE(refused({.name = "modular", .seq_len = 5}, HasSubstr("seq_len = 5: expected 4")));
  EXPECT_NO_THROW(make_with({.name = "modular", .n_symbols = 9973}));
}

}  // namespace
}  // namespace headtorch::tasks
