// What ends a run early, and what it is tested on besides its own data.

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/train/untrained.hpp"
#include "train/run.hpp"

namespace headtorch::train {
namespace {

using testing::AllOf;
using testing::HasSubstr;

RunConfig quick(const std::string& task, models::Family family) {
  RunConfig config = small_config(task, family);
  config.model.n_layers = 1;
  return config;
}

struct Told {
  RunResult result;
  std::vector<std::int64_t> evaluated;  // after which steps
  std::vector<double> losses;
};

Told run(const RunConfig& config) {
  const auto task = make_task(config);
  Told told;
  RunObserver observer;
  observer.on_evaluation = [&](std::int64_t step, const Evaluation& evaluation, double) {
    told.evaluated.push_back(step);
    told.losses.push_back(evaluation.loss);
  };
  told.result = run_training(config, *task, observer);
  return told;
}

/// A run whose parameters stand still, so that no evaluation is better than the first.
RunConfig standing_still() {
  RunConfig config = quick("reverse", models::Family::kEncoder);
  config.train.lr = 1e-30;
  config.train.weight_decay = 0.0;
  config.train.eval_every = 3;
  config.train.steps = 30;
  return config;
}

TEST(Patience, stops_after_as_many_evaluations_without_a_better_one_and_says_why) {
  for (const std::int64_t patience : {1, 2, 4}) {
    RunConfig config = standing_still();
    config.train.patience = patience;
    const Told told = run(config);
    EXPECT_EQ(told.result.steps, 3 * patience);
    EXPECT_EQ(told.result.ending, Ending::kComplete);
    EXPECT_THAT(told.result.stop_reason,
                AllOf(HasSubstr("patience = " + std::to_string(patience)), HasSubstr("validation loss"),
                      HasSubstr("step " + std::to_string(3 * patience))));
    EXPECT_GT(told.result.test.counted, 0) << "it is tested all the same";
    for (const double loss : told.losses) EXPECT_EQ(loss, told.losses[0]);
  }
}

TEST(Patience, works_without_anybody_who_listens) {
  RunConfig config = standing_still();
  config.train.patience = 2;
  EXPECT_EQ(run_training(config, *make_task(config), {}).steps, 6);
}

TEST(Patience, of_0_never_stops) {
  const Told told = run(standing_still());
  EXPECT_EQ(told.result.steps, 30);
  EXPECT_EQ(told.result.stop_reason, "");
}

TEST(Patience, is_not_tried_by_a_loss_that_falls) {
  RunConfig config = quick("reverse", models::Family::kEncoder);
  config.model.dropout = config.model.attention.attention_dropout = 0.0;
  config.train.eval_every = 10;
  config.train.steps = 40;
  config.train.batch = 32;
  config.train.patience = 1;
  const Told told = run(config);
  ASSERT_TRUE(std::is_sorted(told.losses.rbegin(), told.losses.rend())) << "the premise: each loss is lower";
  EXPECT_EQ(told.result.steps, 40);
  EXPECT_EQ(told.result.stop_reason, "");
}

TEST(EvalLengths, test_the_trained_model_on_other_lengths_in_order) {
  RunConfig config = quick("copy", models::Family::kEncoder);
  config.model.position = nn::Position::kAlibi;
  const std::int64_t own = make_task(config)->shape().seq_len;
  config.train.eval_lengths = {own, 2 * own, 8};
  const RunResult result = run(config).result;
  ASSERT_EQ(result.by_length.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(result.by_length[i].length, config.train.eval_lengths[i]);
    ASSERT_TRUE(result.by_length[i].test.has_value()) << result.by_length[i].why_not;
    EXPECT_EQ(result.by_length[i].why_not, "");
    EXPECT_GT(result.by_length[i].test->counted, 0);
  }
  // As many tokens as in 1000 examples of the own length; those are the first of the test data.
  EXPECT_EQ(result.by_length[0].test->n, 1000);
  EXPECT_EQ(result.by_length[1].test->n, 500);
  EXPECT_EQ(result.by_length[2].test->n, 1000);
  EXPECT_NEAR(result.by_length[0].test->loss, result.test.loss, 0.02);
  EXPECT_NEAR(result.by_length[0].test->token_accuracy, result.test.token_accuracy, 0.02);
  // A longer example counts more positions.
  EXPECT_GT(result.by_length[1].test->counted / result.by_length[1].test->n,
            result.test.counted / result.test.n);
}

TEST(EvalLengths, past_a_learned_table_are_told_why_not) {
  RunConfig config = quick("copy", models::Family::kEncoder);
  config.model.position = nn::Position::kLearned;
  const std::int64_t own = make_task(config)->shape().seq_len;
  config.train.eval_lengths = {own / 2, own + 4};
  const RunResult result = run(config).result;
  ASSERT_EQ(result.by_length.size(), 2U);
  EXPECT_TRUE(result.by_length[0].test.has_value()) << result.by_length[0].why_not;
  EXPECT_FALSE(result.by_length[1].test.has_value());
  EXPECT_THAT(result.by_length[1].why_not,
              AllOf(HasSubstr(std::to_string(own + 4)), HasSubstr(std::to_string(own))));
}

TEST(EvalLengths, work_for_an_encoder_decoder_and_change_nothing_else) {
  RunConfig config = quick("copy", models::Family::kEncoderDecoder);
  config.model.position = nn::Position::kSinusoidal;
  const RunResult plain = run(config).result;
  const std::int64_t own = make_task(config)->shape().seq_len;
  config.train.eval_lengths = {own + 8};
  const RunResult result = run(config).result;
  ASSERT_EQ(result.by_length.size(), 1U);
  EXPECT_TRUE(result.by_length[0].test.has_value()) << result.by_length[0].why_not;
  EXPECT_EQ(result.test.loss, plain.test.loss);
}

}  // namespace
}  // namespace headtorch::train
