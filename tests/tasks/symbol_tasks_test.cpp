#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "src/tasks/split.hpp"
#include "src/tasks/task.hpp"
#include "tests/support/errors.hpp"

namespace headtorch::tasks {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Row = std::vector<std::int64_t>;

std::unique_ptr<Task> make(const std::string& name, std::int64_t n_symbols = 0, std::int64_t seq_len = 0,
                           std::uint64_t seed = 1) {
  TaskOptions options;
  options.name = name;
  options.n_symbols = n_symbols;
  options.seq_len = seq_len;
  return make_task(options, seed);
}

Row row(const std::vector<std::int64_t>& values, const Batch& batch, std::int64_t example) {
  const auto begin = values.begin() + example * batch.length;
  return {begin, begin + batch.length};
}

/// The labels written down a second time, as slowly and plainly as possible: an oracle that every test set
/// must agree with.
Row oracle(const std::string& name, const Row& t) {
  const auto n = static_cast<std::int64_t>(t.size());
  const auto at = [&](std::int64_t i) { return t[static_cast<std::size_t>(i)]; };
  Row y;
  for (std::int64_t i = 0; i < n; ++i) {
    if (name == "reverse") y.push_back(at(n - 1 - i));
    if (name == "copy") y.push_back(i < 3 ? kNotCounted : at(i - 3));
    if (name == "sort") {
      for (std::int64_t symbol = 0;;
           ++symbol) {  // the symbol with at most i smaller ones and more than i not larger
        std::int64_t smaller = 0, not_larger = 0;
        for (std::int64_t k = 0; k < n; ++k) smaller += at(k) < symbol, not_larger += at(k) <= symbol;
        if (smaller <= i && i < not_larger) {
          y.push_back(symbol);
          break;
        }
      }
    }
    if (name == "histogram") {
      std::int64_t others = 0;
      for (std::int64_t k = 0; k < n; ++k) others += k != i && at(k) == at(i);
      y.push_back(std::min<std::int64_t>(others, 9));
    }
    if (name == "induction") {
      std::int64_t before = kNotCounted;  // where the token stood before; what followed it then follows now
      for (std::int64_t k = 0; k < i; ++k) before = at(k) == at(i) ? k : before;
      y.push_back(before == kNotCounted ? kNotCounted : at(before + 1));
    }
  }
  return y;
}

class EachSymbolTask : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Tasks, EachSymbolTask,
                         ::testing::Values("reverse", "copy", "sort", "histogram", "induction"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(EachSymbolTask, labels_are_those_of_the_oracle_on_the_whole_test_set) {
  const auto task = make(GetParam());
  const Batch batch = task->batch(Split::kTest, 0, task->size(Split::kTest));
  ASSERT_EQ(batch.examples, task->size(Split::kTest));
  ASSERT_EQ(batch.tokens.size(), static_cast<std::size_t>(batch.examples * batch.length));
  ASSERT_EQ(batch.labels.size(), batch.tokens.size());
  for (std::int64_t i = 0; i < batch.examples; ++i) {
    const Row tokens = row(batch.tokens, batch, i);
    ASSERT_EQ(row(batch.labels, batch, i), oracle(GetParam(), tokens)) << ::testing::PrintToString(tokens);
  }
}

TEST_P(EachSymbolTask, tokens_and_labels_are_in_range_and_all_occur) {
  const auto task = make(GetParam());
  const Batch batch = task->batch(Split::kTrain, 0, 5000);
  const std::set<std::int64_t> tokens(batch.tokens.begin(), batch.tokens.end());
  std::set<std::int64_t> labels(batch.labels.begin(), batch.labels.end());
  labels.erase(kNotCounted);
  EXPECT_EQ(static_cast<std::int64_t>(tokens.size()), task->shape().n_symbols);
  EXPECT_EQ(*tokens.begin(), 0);
  EXPECT_EQ(*tokens.rbegin(), task->shape().n_symbols - 1);
  EXPECT_EQ(*labels.begin(), 0);
  EXPECT_LT(*labels.rbegin(), task->shape().n_classes);
}

TEST_P(EachSymbolTask, example_i_depends_on_seed_split_and_i_alone) {
  const auto task = make(GetParam());
  for (const Split split : {Split::kTrain, Split::kValidation, Split::kTest}) {
    const Batch whole = task->batch(split, 0, 40), part = task->batch(split, 7, 5);
    for (std::int64_t i = 0; i < 5; ++i) {
      EXPECT_EQ(row(part.tokens, part, i), row(whole.tokens, whole, 7 + i));
      EXPECT_EQ(row(part.labels, part, i), row(whole.labels, whole, 7 + i));
    }
    EXPECT_EQ(make(GetParam())->batch(split, 0, 40).tokens, whole.tokens);
    EXPECT_NE(make(GetParam(), 0, 0, 2)->batch(split, 0, 40).tokens, whole.tokens);
  }
  EXPECT_NE(task->batch(Split::kValidation, 0, 40).tokens, task->batch(Split::kTest, 0, 40).tokens);
  const Batch far = task->batch(Split::kTrain, std::int64_t{1} << 40, 2);
  EXPECT_NE(row(far.tokens, far, 0), row(far.tokens, far, 1));
}

TEST_P(EachSymbolTask, splits_share_no_example_for_any_seed) {
  const bool induction = std::string(GetParam()) == "induction";
  std::map<Row, Split> seen;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    // So few inputs exist that each is drawn many times.
    const auto task = induction ? make(GetParam(), 6, 12, seed) : make(GetParam(), 3, 6, seed);
    for (const Split split : {Split::kTrain, Split::kValidation, Split::kTest}) {
      const Batch batch = task->batch(split, 0, split == Split::kTrain ? 5000 : task->size(split));
      for (std::int64_t i = 0; i < batch.examples; ++i) {
        const auto [place, is_new] = seen.emplace(row(batch.tokens, batch, i), split);
        ASSERT_TRUE(is_new || place->second == split);
      }
    }
  }
  EXPECT_GT(seen.size(), 700);
  EXPECT_TRUE(make(GetParam())->overlap_note().empty());
}

TEST_P(EachSymbolTask, refuses_examples_outside_a_split) {
  const auto task = make(GetParam());
  const std::int64_t n = task->size(Split::kTest);
  EXPECT_NO_THROW(task->batch(Split::kTest, n, 0));
  EXPECT_TRUE(test::fails([&] { task->batch(Split::kTest, n, 1); }, ExitCode::kInternal));
  EXPECT_TRUE(test::fails([&] { task->batch(Split::kValidation, -1, 1); }, ExitCode::kInternal));
  EXPECT_TRUE(test::fails([&] { task->batch(Split::kTrain, 0, -1); }, ExitCode::kInternal));
}

TEST_P(EachSymbolTask, says_what_it_is) {
  const auto task = make(GetParam());
  const bool causal = std::string(GetParam()) == "induction";
  EXPECT_EQ(task->shape().name, GetParam());
  EXPECT_EQ(task->shape().reading, causal ? Reading::kLeftToRight : Reading::kWholeSequence);
  EXPECT_EQ(task->shape().n_symbols, causal ? 32 : 10);
  EXPECT_EQ(task->shape().n_classes, causal ? 32 : 10);
  EXPECT_EQ(task->shape().seq_len, causal ? 32 : 16);
  EXPECT_EQ(task->size(Split::kValidation), 1000);
  EXPECT_EQ(task->size(Split::kTest), std::string(GetParam()) == "sort" ? 5000 : 10000);
  EXPECT_EQ(task->n_free_running(), causal ? 1000 : 0);
  EXPECT_EQ(task->token_text(7), "7");
}

// The values are Python's xxhash.xxh3_64_intdigest(struct.pack("<6q", *tokens), 0x6865616474) % 10. An
// example that changes its split from one version to the next would make old runs look better than they are.
TEST(SymbolTasks, splits_stay_as_they_are) {
  const std::vector<std::pair<Row, int>> expected = {
      {{9, 4, 5, 8, 0, 7}, 6}, {{3, 0, 2, 1, 5, 7}, 7}, {{3, 6, 8, 1, 9, 3}, 3}, {{0, 3, 6, 4, 2, 6}, 3},
      {{2, 1, 2, 9, 9, 7}, 4}, {{2, 2, 0, 0, 3, 3}, 5}, {{2, 2, 4, 5, 3, 8}, 6}, {{3, 2, 3, 6, 4, 0}, 1},
      {{5, 6, 2, 2, 4, 1}, 0}, {{5, 4, 9, 9, 0, 9}, 2}, {{5, 1, 4, 5, 4, 7}, 5}, {{5, 2, 7, 7, 2, 0}, 8},
  };
  for (const auto& [tokens, rest] : expected) {
    const Split split = rest == 0 ? Split::kTest : rest == 1 ? Split::kValidation : Split::kTrain;
    EXPECT_EQ(split_of(tokens), split) << ::testing::PrintToString(tokens);
  }
}

TEST(SymbolTasks, a_tenth_of_all_inputs_is_test_and_a_tenth_validation) {
  double counts[3] = {0.0, 0.0, 0.0};
  for (std::int64_t n = 0; n < 100000; ++n) {
    ++counts[static_cast<int>(split_of(Row{n % 10, n / 10 % 10, n / 100 % 10, n / 1000 % 10, n / 10000}))];
  }
  EXPECT_NEAR(counts[1], 10000, 500);  // five standard deviations
  EXPECT_NEAR(counts[2], 10000, 500);
}

TEST(SymbolTasks, symbols_are_drawn_evenly_at_each_position) {
  const Batch batch = make("reverse")->batch(Split::kTrain, 0, 20000);
  std::vector<std::vector<int>> counts(16, std::vector<int>(10, 0));
  for (std::size_t i = 0; i < batch.tokens.size(); ++i)
    ++counts[i % 16][static_cast<std::size_t>(batch.tokens[i])];
  for (const auto& position : counts) {
    double chi_squared = 0.0;
    for (const int count : position) chi_squared += (count - 2000.0) * (count - 2000.0) / 2000.0;
    EXPECT_LT(chi_squared, 40.0);  // 9 degrees of freedom: above with probability 8e-6
  }
}

TEST(SymbolTasks, induction_repeats_distinct_tokens_with_periods_drawn_evenly_from_6_to_16) {
  const Batch batch = make("induction")->batch(Split::kTrain, 0, 11000);
  std::map<std::int64_t, int> periods;
  for (std::int64_t i = 0; i < batch.examples; ++i) {
    const Row t = row(batch.tokens, batch, i);
    const std::int64_t period = static_cast<std::int64_t>(std::set<std::int64_t>(t.begin(), t.end()).size());
    for (std::int64_t k = period; k < batch.length; ++k) {
      ASSERT_EQ(t[static_cast<std::size_t>(k)], t[static_cast<std::size_t>(k - period)]);
    }
    ++periods[period];
    const Row y = row(batch.labels, batch, i);
    EXPECT_EQ(std::count(y.begin(), y.end(), kNotCounted), period);
  }
  EXPECT_EQ(periods.begin()->first, 6);
  EXPECT_EQ(periods.rbegin()->first, 16);
  for (const auto& [period, count] : periods)
    EXPECT_NEAR(count, 1000, 150) << period;  // five standard deviations
}

TEST(SymbolTasks, sort_of_3_digits_and_length_6_says_that_729_inputs_exist_and_keeps_splits_apart) {
  const auto task = make("sort", 3, 6);
  std::set<Row> of[3];
  for (const Split split : {Split::kTrain, Split::kValidation, Split::kTest}) {
    const Batch batch = task->batch(split, 0, split == Split::kTrain ? 20000 : task->size(split));
    for (std::int64_t i = 0; i < batch.examples; ++i) {
      of[static_cast<int>(split)].insert(row(batch.tokens, batch, i));
    }
  }
  EXPECT_EQ(of[0].size() + of[1].size() + of[2].size(), 729);  // all occur, and only in one split
  std::set<Row> all;
  for (const auto& rows : of) all.insert(rows.begin(), rows.end());
  EXPECT_EQ(all.size(), 729);
  EXPECT_THAT(
      task->overlap_note(),
      AllOf(HasSubstr("729"), HasSubstr(std::to_string(of[2].size()) + " of them"), HasSubstr("5000")));
}

TEST(SymbolTasks, induction_with_few_symbols_counts_its_inputs_exactly) {
  // Periods 6 and 7 of 7 symbols: 7!/1! + 7!/0! arrangements.
  EXPECT_THAT(make("induction", 7, 32)->overlap_note(), HasSubstr("10080"));
}

TEST(SymbolTasks, spaces_too_small_for_three_splits_are_refused_at_once) {
  for (const char* name : {"reverse", "sort", "histogram"}) {
    EXPECT_TRUE(test::fails(
        [&] { make(name, 2, 1); }, ExitCode::kBadConfig,
        AllOf(HasSubstr("n_symbols = 2"), HasSubstr("seq_len = 1"), HasSubstr("2 different inputs"))));
  }
}

TEST(SymbolTasks, every_size_works_or_is_refused) {
  for (const char* name : {"reverse", "copy", "sort", "histogram", "induction"}) {
    for (std::int64_t n_symbols = 2; n_symbols <= 8; ++n_symbols) {
      for (std::int64_t seq_len = 1; seq_len <= 14; ++seq_len) {
        try {
          const auto task = make(name, n_symbols, seq_len);
          for (const Split split : {Split::kTrain, Split::kValidation, Split::kTest}) {
            const Batch batch = task->batch(split, 0, 5);
            for (std::int64_t i = 0; i < 5; ++i) {
              ASSERT_EQ(row(batch.labels, batch, i), oracle(name, row(batch.tokens, batch, i)));
            }
            for (const std::int64_t label : batch.labels) ASSERT_LT(label, task->shape().n_classes);
          }
        } catch (const ConfigError&) {
        }
      }
    }
  }
}

TEST(SymbolTasks, large_sizes_work) {
  const auto task = make("histogram", 100000, 4096);
  const Batch batch = task->batch(Split::kTrain, 0, 2);
  EXPECT_EQ(batch.tokens.size(), 2 * 4096u);
}

TEST(SymbolTasks, sizes_out_of_range_are_refused_with_their_numbers) {
  EXPECT_TRUE(test::fails([] { make("reverse", 1); }, ExitCode::kBadConfig,
                          HasSubstr("n_symbols = 1: expected 2 to 100000")));
  EXPECT_TRUE(test::fails([] { make("reverse", -3); }, ExitCode::kBadConfig, HasSubstr("-3")));
  EXPECT_TRUE(test::fails([] { make("sort", 100001); }, ExitCode::kBadConfig, HasSubstr("100001")));
  EXPECT_TRUE(test::fails([] { make("sort", 0, 4097); }, ExitCode::kBadConfig,
                          HasSubstr("seq_len = 4097: expected 1 to 4096")));
  EXPECT_TRUE(
      test::fails([] { make("copy", 0, 3); }, ExitCode::kBadConfig, HasSubstr("seq_len = 3: expected 4")));
  EXPECT_TRUE(test::fails([] { make("induction", 5); }, ExitCode::kBadConfig,
                          HasSubstr("n_symbols = 5: expected 6")));
  EXPECT_TRUE(test::fails([] { make("induction", 0, 11); }, ExitCode::kBadConfig,
                          HasSubstr("seq_len = 11: expected 12")));
}

TEST(SymbolTasks, unknown_names_and_files_out_of_place_are_refused) {
  EXPECT_TRUE(test::fails(
      [] { make("revers"); }, ExitCode::kUsage,
      AllOf(HasSubstr("revers"), HasSubstr("reverse, copy, sort, histogram, induction, add, recall"))));
  EXPECT_TRUE(test::fails([] { make(""); }, ExitCode::kUsage));
  EXPECT_TRUE(test::fails(
      [] {
        make_task({"sort", 0, 0, "a.txt"}, 1);
      },
      ExitCode::kBadConfig, HasSubstr("a.txt")));
}

TEST(SymbolTasks, typed_tokens_are_read_or_refused_by_name) {
  const auto task = make("reverse");
  EXPECT_EQ(task->parse_tokens("3 1 4"), (Row{3, 1, 4}));
  EXPECT_EQ(task->parse_tokens("  9\t0\n"), (Row{9, 0}));
  for (const char* word : {"12abc", "10", "-1", "+1", "3,1", "1.0", "0x1", "99999999999999999999", "x"}) {
    EXPECT_TRUE(test::fails([&] { task->parse_tokens(std::string("3 ") + word); }, ExitCode::kBadData,
                            AllOf(HasSubstr(std::string("\"") + word + "\""), HasSubstr("0 to 9"))));
  }
  for (const char* empty : {"", "  ", "\n"}) {
    EXPECT_TRUE(test::fails([&] { task->parse_tokens(empty); }, ExitCode::kBadData, HasSubstr("is empty")));
  }
}

}  // namespace
}  // namespace headtorch::tasks
