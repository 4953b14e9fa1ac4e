#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/support/errors.hpp"
#include "tests/tasks/examples.hpp"

namespace headtorch::tasks {
namespace {

using test::make;
using test::make_with;
using test::Row;
using ::testing::HasSubstr;

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const TaskDescription& description : describe_tasks()) {
    if (description.n_test > 0) all.push_back(description.name);
  }
  return all;
}

/// Everything of an example that a model or a loss sees.
struct Seen {
  Row tokens, labels, source;
  std::vector<float> features, values, source_features;
  auto operator<=>(const Seen&) const = default;
};

Seen seen(const Task& task, const Batch& batch, std::int64_t i) {
  Seen example = {test::tokens_of(batch, i), test::labels_of(batch, i), {}, {}, {}, {}};
  if (!batch.features.empty())
    example.features = test::row(batch.features, batch.length * task.shape().n_features, i);
  if (!batch.values.empty()) example.values = test::row(batch.values, batch.length, i);
  if (batch.source.length == 0) return example;
  example.source = test::source_of(batch, i);
  if (!batch.source.features.empty()) {
    example.source_features =
        test::row(batch.source.features, batch.source.length * task.shape().source.n_features, i);
  }
  return example;
}

constexpr Split kSplits[] = {Split::kTrain, Split::kValidation, Split::kTest};

class EachTask : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Tasks, EachTask, ::testing::ValuesIn(names()), [](const auto& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST_P(EachTask, has_the_sizes_of_its_shape_and_values_in_range) {
  const auto task = make(GetParam());
  const TaskShape& s = task->shape();
  EXPECT_EQ(s.name, GetParam());
  for (const Split split : kSplits) {
    const Batch batch = task->batch(split, 0, 100);
    ASSERT_EQ(batch.examples, 100);
    ASSERT_EQ(batch.length, s.seq_len);
    const auto n = static_cast<std::size_t>(100 * s.seq_len);
    ASSERT_EQ(batch.tokens.size(), n);
    ASSERT_EQ(batch.labels.size(), n);
    EXPECT_EQ(batch.features.size(), n * static_cast<std::size_t>(s.n_features));
    EXPECT_EQ(batch.values.size(), s.measure == Measure::kReal ? n : 0);
    for (const std::int64_t token : batch.tokens) ASSERT_TRUE(token >= 0 && token < s.n_symbols) << token;
    for (const std::int64_t label : batch.labels)
      ASSERT_TRUE(label >= kNotCounted && label < s.n_classes) << label;
    for (std::int64_t i = 0; i < 100; ++i) {
      const Row labels = test::labels_of(batch, i);
      EXPECT_LT(std::count(labels.begin(), labels.end(), kNotCounted), s.seq_len) << "nothing counts";
    }
    const auto m = static_cast<std::size_t>(100 * s.source.seq_len);
    EXPECT_EQ(batch.source.length, s.source.seq_len);
    ASSERT_EQ(batch.source.tokens.size(), m);
    EXPECT_EQ(batch.source.features.size(), m * static_cast<std::size_t>(s.source.n_features));
    EXPECT_EQ(batch.source.lengths.size(), m > 0 ? 100 : 0);
    for (const std::int64_t token : batch.source.tokens)
      ASSERT_TRUE(token >= 0 && token < s.source.n_symbols) << token;
    for (std::size_t i = 0; i < batch.source.lengths.size(); ++i) {
      const std::int64_t length = batch.source.lengths[i];
      ASSERT_TRUE(length >= 1 && length <= s.source.seq_len) << length;
      for (const std::int64_t padding :
           Row(batch.source.tokens.begin() + static_cast<std::ptrdiff_t>(i) * s.source.seq_len + length,
               batch.source.tokens.begin() + static_cast<std::ptrdiff_t>(i + 1) * s.source.seq_len))
        ASSERT_EQ(padding, 0);
    }
  }
  if (s.image.rows > 0) {
    EXPECT_EQ(s.image.first + s.image.rows * s.image.columns, s.seq_len);
    EXPECT_EQ(s.image.patch * s.image.patch, s.n_features);
  }
  if (s.source.image.rows > 0) {
    EXPECT_EQ(s.source.image.rows * s.source.image.columns, s.source.seq_len);
  }
}

TEST_P(EachTask, example_i_depends_on_seed_split_and_i_alone) {
  const auto task = make(GetParam());
  const bool stored = GetParam().rfind("digits", 0) == 0;  // validation and test are lists
  for (const Split split : kSplits) {
    const Batch whole = task->batch(split, 0, 40), part = task->batch(split, 7, 5),
                again = make(GetParam())->batch(split, 0, 40),
                other = make(GetParam(), 2)->batch(split, 0, 40);
    bool differs = false;
    for (std::int64_t i = 0; i < 40; ++i) {
      EXPECT_EQ(seen(*task, again, i), seen(*task, whole, i));
      differs = differs || seen(*task, other, i) != seen(*task, whole, i);
    }
    EXPECT_EQ(differs, split == Split::kTrain || !stored);
    for (std::int64_t i = 0; i < 5; ++i) EXPECT_EQ(seen(*task, part, i), seen(*task, whole, 7 + i));
  }
  const Batch far = task->batch(Split::kTrain, std::int64_t{1} << 40, 2);
  EXPECT_NE(seen(*task, far, 0), seen(*task, far, 1));
}

TEST_P(EachTask, splits_share_no_example_for_any_seed) {
  std::map<Seen, Split> known;
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    const auto task = make(GetParam(), seed);
    for (const Split split : kSplits) {
      const std::int64_t n = split == Split::kTrain ? 3000 : std::min<std::int64_t>(1000, task->size(split));
      const Batch batch = task->batch(split, 0, n);
      for (std::int64_t i = 0; i < n; ++i) {
        const auto [place, is_new] = known.emplace(seen(*task, batch, i), split);
        ASSERT_TRUE(is_new || place->second == split);
      }
    }
  }
  EXPECT_GT(known.size(), 1000);
}

TEST_P(EachTask, refuses_examples_outside_a_split) {
  const auto task = make(GetParam());
  const std::int64_t n = task->size(Split::kTest);
  EXPECT_NO_THROW(task->batch(Split::kTest, n, 0));
  EXPECT_TRUE(headtorch::test::fails([&] { task->batch(Split::kTest, n, 1); }, ExitCode::kInternal));
  EXPECT_TRUE(headtorch::test::fails([&] { task->batch(Split::kTrain, -1, 1); }, ExitCode::kInternal));
}

TEST_P(EachTask, is_described_as_it_is) {
  const auto task = make(GetParam());
  for (const TaskDescription& d : describe_tasks()) {
    if (d.name != GetParam()) continue;
    EXPECT_FALSE(d.summary.empty());
    EXPECT_EQ(d.n_symbols, task->shape().n_symbols);
    EXPECT_EQ(d.seq_len, task->shape().seq_len);
    EXPECT_EQ(d.n_test, task->size(Split::kTest));
    EXPECT_EQ(d.reading, task->shape().reading);
  }
  // The numbers that `headtorch tasks` shows may be asked for.
  EXPECT_NO_THROW(make_with({.name = GetParam(), .seq_len = task->shape().seq_len}));
}

TEST_P(EachTask, reads_the_texts_of_its_tokens) {
  const auto task = make(GetParam());
  const TaskShape& s = task->shape();
  for (std::int64_t token = 0; token < std::min<std::int64_t>(s.n_symbols, 200); ++token) {
    if (GetParam() == "dates" && token == s.start) continue;  // characters are typed, not words
    EXPECT_EQ(task->parse_tokens(task->token_text(token)), Row{token});
  }
  for (std::int64_t label = 0; label < std::min<std::int64_t>(s.n_classes, 200); ++label)
    EXPECT_FALSE(task->label_text(label).empty());
  EXPECT_TRUE(headtorch::test::fails([&] { task->parse_tokens("zebra!"); }, ExitCode::kBadData));
  EXPECT_TRUE(
      headtorch::test::fails([&] { task->parse_tokens(""); }, ExitCode::kBadData, HasSubstr("is empty")));
  if (s.source.seq_len == 0) {
    EXPECT_TRUE(
        headtorch::test::fails([&] { task->parse_source("1"); }, ExitCode::kBadData, HasSubstr("no source")));
    EXPECT_TRUE(headtorch::test::fails([&] { task->source_token_text(0); }, ExitCode::kBadData));
    return;
  }
  for (std::int64_t token = 0; token < s.source.n_symbols; ++token) {
    const std::string text = task->source_token_text(token);
    EXPECT_EQ(task->parse_source(text == "\u2423" ? " " : text), Row{token});
  }
  EXPECT_TRUE(headtorch::test::fails([&] { task->parse_source(""); }, ExitCode::kBadData));
}

TEST_P(EachTask, the_first_prompt_ends_where_the_answer_starts) {
  const auto task = make(GetParam());
  const Row prompt = task->first_prompt();
  const Batch batch = task->batch(Split::kValidation, 0, 1);
  const Row tokens = test::tokens_of(batch, 0), labels = test::labels_of(batch, 0);
  ASSERT_GE(prompt.size(), 1U);
  ASSERT_LE(prompt.size(), tokens.size());
  EXPECT_TRUE(std::equal(prompt.begin(), prompt.end(), tokens.begin()));
  const auto last = labels.begin() + std::ssize(prompt) - 1;
  EXPECT_EQ(std::count(labels.begin(), last, kNotCounted), last - labels.begin());
  EXPECT_NE(*last, kNotCounted);
  if (task->shape().n_features > 0 || task->shape().source.seq_len > 0) return;
  EXPECT_EQ(task->parse_tokens(typed(*task, prompt)), prompt);
}

TEST_P(EachTask, refuses_options_that_would_have_no_effect) {
  const std::string& name = GetParam();
  const auto refused = [&](TaskOptions options, const std::string& what) {
    options.name = name;
    return headtorch::test::fails([&] { make_with(options); }, ExitCode::kBadConfig, HasSubstr(what));
  };
  EXPECT_TRUE(refused({.file = "a.txt"}, "a.txt"));
  if (name != "recall" && name != "mqar" && name != "select") {
    EXPECT_TRUE(refused({.n_pairs = 2}, "n_pairs = 2"));
  }
  if (name != "add") {
    EXPECT_TRUE(refused({.digit_order = DigitOrder::kPlain}, "digit_order"));
  }
  if (name != "modular") {
    EXPECT_TRUE(refused({.operation = Operation::kAdd}, "operation"));
  }
}

TEST(Tasks, come_in_a_fixed_order) {
  EXPECT_THAT(names(),
              ::testing::ElementsAre("reverse", "copy", "sort", "histogram", "induction", "add", "recall",
                                     "mqar", "select", "dyck", "modular", "markov", "regression", "functions",
                                     "dates", "digits", "digits-question"));
  std::vector<std::string> of_files;
  for (const TaskDescription& task : describe_tasks()) {
    if (task.n_test == 0) of_files.push_back(task.name);
  }
  EXPECT_THAT(of_files, ::testing::ElementsAre("text", "series", "table"));
}

}  // namespace
}  // namespace headtorch::tasks
