#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/errors.hpp"
#include "tests/tasks/examples.hpp"

namespace headtorch::tasks {
namespace {

using test::make_with;
using test::Row;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::unique_ptr<Task> make_target(const std::string& name, std::int64_t n_symbols = 0,
                                  std::int64_t seq_len = 0) {
  return make_with(
      {.name = name, .seq_len = seq_len, .n_symbols = n_symbols, .reading = Reading::kSourceToTarget});
}

Row answers(const std::string& name, const Row& source) {
  Row y = source;
  if (name == "reverse") std::reverse(y.begin(), y.end());
  if (name == "sort") std::sort(y.begin(), y.end());
  if (name == "histogram") {
    for (std::int64_t& label : y)
      label = std::min<std::int64_t>(std::count(source.begin(), source.end(), label) - 1, 9);
  }
  return y;
}

class EachTargetForm : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Tasks, EachTargetForm, ::testing::Values("copy", "reverse", "sort", "histogram"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(EachTargetForm, the_target_is_a_start_token_and_the_answers_before_this_one) {
  const auto task = make_target(GetParam(), 12);
  const TaskShape& s = task->shape();
  EXPECT_EQ(s.reading, Reading::kSourceToTarget);
  EXPECT_EQ(s.n_classes, GetParam() == std::string("histogram") ? 10 : 12);
  EXPECT_EQ(s.start, s.n_classes);
  EXPECT_EQ(s.n_symbols, s.n_classes + 1);
  EXPECT_EQ(s.source.n_symbols, 12);
  EXPECT_EQ(s.source.seq_len, 16);
  EXPECT_EQ(task->token_text(s.start), "start");
  EXPECT_GT(task->n_free_running(), 0);
  const Batch batch = task->batch(Split::kTest, 0, task->size(Split::kTest));
  for (std::int64_t i = 0; i < batch.examples; ++i) {
    const Row y = answers(GetParam(), test::source_of(batch, i));
    Row target = {s.start};
    target.insert(target.end(), y.begin(), y.end() - 1);
    ASSERT_EQ(test::labels_of(batch, i), y);
    ASSERT_EQ(test::tokens_of(batch, i), target);
  }
}

TEST_P(EachTargetForm, sources_are_kept_apart_by_split) {
  const auto target = make_target(GetParam(), 3, 6);
  EXPECT_THAT(target->overlap_note(), HasSubstr("729"));
  std::vector<Row> test_sources;
  const Batch tests = target->batch(Split::kTest, 0, 5000), training = target->batch(Split::kTrain, 0, 5000);
  for (std::int64_t i = 0; i < tests.examples; ++i) test_sources.push_back(test::source_of(tests, i));
  std::sort(test_sources.begin(), test_sources.end());
  for (std::int64_t i = 0; i < training.examples; ++i)
    ASSERT_FALSE(std::binary_search(test_sources.begin(), test_sources.end(), test::source_of(training, i)));
}

TEST(TargetForm, typed_sources_and_targets_are_read_or_refused) {
  const auto task = make_target("reverse");
  EXPECT_EQ(task->parse_source("3 1 4"), (Row{3, 1, 4}));
  EXPECT_EQ(task->parse_tokens("start 4 1"), (Row{10, 4, 1}));
  EXPECT_TRUE(
      headtorch::test::fails([&] { task->parse_source("3 10"); }, ExitCode::kBadData, HasSubstr("\"10\"")));
  EXPECT_TRUE(
      headtorch::test::fails([&] { task->parse_source("3 start"); }, ExitCode::kBadData, HasSubstr("start")));
  EXPECT_TRUE(headtorch::test::fails([&] { task->parse_tokens("11"); }, ExitCode::kBadData,
                                     AllOf(HasSubstr("\"11\""), HasSubstr("0 to 9 or words among start"))));
  EXPECT_TRUE(headtorch::test::fails([&] { task->parse_source("1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"); },
                                     ExitCode::kBadData, AllOf(HasSubstr("17"), HasSubstr("16"))));
}

TEST(TargetForm, a_copy_of_one_symbol_is_a_task_here) {
  EXPECT_NO_THROW(make_target("copy", 1000, 1));
  EXPECT_TRUE(
      headtorch::test::fails([] { make_with({.name = "copy", .seq_len = 1}); }, ExitCode::kBadConfig));
}

TEST(TargetForm, other_tasks_refuse_naming_the_family) {
  for (const TaskDescription& d : describe_tasks()) {
    const bool has_source = d.translates || d.reading == Reading::kSourceToTarget;
    if (has_source) {
      EXPECT_EQ(make_target(d.name)->shape().reading, Reading::kSourceToTarget);
    } else {
      EXPECT_TRUE(headtorch::test::fails(
          [&] { make_target(d.name); }, ExitCode::kBadConfig,
          AllOf(HasSubstr("family = encoder-decoder"), HasSubstr(d.name + " does not"))));
    }
  }
}

}  // namespace
}  // namespace headtorch::tasks
