#include "train/scale_grid.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <mutex>
#include <set>

#include "tests/support/errors.hpp"

// The grid, with a stand-in for training whose results are known.

namespace headtorch::train {
namespace {

using ::testing::HasSubstr;

std::string scale_of(const RunConfig& config) {
  const nn::Scale& scale = config.model.attention.scale;
  if (scale.kind == nn::ScaleKind::kNumber) return scale.number == 1.0 ? "none" : "another";
  return scale.kind == nn::ScaleKind::kSqrt ? "sqrt" : "learned";
}

class ScaleGridTest : public ::testing::Test {
 protected:
  ScaleGridTest() {
    config_ = default_config("reverse");
    config_.train.seed = 7;
    config_.train.threads = 2;
    config_.train.min_lr = config_.train.lr / 10.0;
    options_.rates = {1e-3, 1e-2};
    options_.n_seeds = 2;
    options_.train = [this](const RunConfig& config, const tasks::Task& task, const RunObserver& observer) {
      return train(config, task, observer);
    };
  }

  RunResult train(const RunConfig& config, const tasks::Task& task, const RunObserver& observer) {
    {
      const std::lock_guard lock(mutex_);
      asked_.push_back(config);
    }
    EXPECT_EQ(task.n_free_running(), 0);
    for (std::int64_t step = 1; step <= 20; ++step) {
      StepMetrics metrics;
      metrics.step = step;
      metrics.loss = 21.0 - static_cast<double>(step);
      observer.on_step(metrics);
    }
    RunResult result;
    result.ending = ending_;
    result.initial_score_sd = 0.9;
    result.test.loss = config.train.lr + static_cast<double>(config.train.seed);
    return result;
  }

  RunConfig config_;
  ScaleGridOptions options_;
  Ending ending_ = Ending::kComplete;
  std::mutex mutex_;
  std::vector<RunConfig> asked_;
};

TEST_F(ScaleGridTest, each_scale_rate_and_seed_is_trained_once_and_stands_in_its_place) {
  std::int64_t told = 0;
  const probe::ScaleGrid grid =
      train_scale_grid(config_, options_, [&](std::int64_t done, std::int64_t of, const std::string&) {
        EXPECT_EQ(done, ++told);
        EXPECT_EQ(of, 12);
      });
  EXPECT_EQ(told, 12);
  EXPECT_EQ(grid.rates, options_.rates);
  std::set<std::tuple<std::string, double, std::int64_t>> asked;
  for (const RunConfig& config : asked_) {
    asked.emplace(scale_of(config), config.train.lr, config.train.seed);
    EXPECT_EQ(config.train.threads, 1);
    EXPECT_NEAR(config.train.min_lr, config.train.lr / 10.0, 1e-12);
    EXPECT_EQ(config.train.steps, config_.train.steps);
  }
  EXPECT_EQ(asked.size(), 12U);
  ASSERT_EQ(grid.rows.size(), 3U);
  EXPECT_EQ(grid.rows[0].scale, "none");
  EXPECT_EQ(grid.rows[1].scale, "sqrt");
  EXPECT_EQ(grid.rows[2].scale, "learned");
  for (const probe::ScaleGridRow& row : grid.rows) {
    for (std::size_t rate = 0; rate < 2; ++rate) {
      for (std::size_t seed = 0; seed < 2; ++seed) {
        const probe::ScaleTraining& training = row.trainings[rate][seed];
        EXPECT_DOUBLE_EQ(training.test_loss, options_.rates[rate] + 7.0 + static_cast<double>(seed));
        EXPECT_EQ(training.first_loss, 20.0);
        EXPECT_EQ(training.last_loss, 1.5);  // of the last two of 20 steps
        EXPECT_EQ(training.initial_score_sd, 0.9);
      }
    }
  }
}

TEST_F(ScaleGridTest, a_training_that_gave_up_has_no_loss) {
  ending_ = Ending::kDiverged;
  const probe::ScaleGrid grid = train_scale_grid(config_, options_, {});
  EXPECT_TRUE(std::isnan(grid.rows[1].trainings[0][0].test_loss));
  EXPECT_TRUE(probe::diverged(grid.rows[1].trainings[0][0]));
}

TEST_F(ScaleGridTest, a_signal_ends_it) {
  ending_ = Ending::kTerminated;
  EXPECT_TRUE(test::fails([&] { train_scale_grid(config_, options_, {}); }, ExitCode::kTerminated,
                          HasSubstr("of 12 trainings, nothing was written")));
}

TEST_F(ScaleGridTest, refuses_what_is_no_grid) {
  const auto refused = [&](const std::string& part) {
    return test::fails([&] { train_scale_grid(config_, options_, {}); }, ExitCode::kBadConfig,
                       HasSubstr(part));
  };
  options_.rates = {1e-2, 1e-3};
  EXPECT_TRUE(refused("expected rates that rise"));
  options_.rates = {};
  EXPECT_TRUE(refused("0 rates"));
  options_.rates = {std::numeric_limits<double>::infinity()};
  EXPECT_TRUE(refused("expected a number > 0"));
  options_.rates = {1e-3};
  options_.n_seeds = 0;
  EXPECT_TRUE(refused("n_seeds = 0"));
  options_.n_seeds = 1;
  config_.model.attention.score = nn::Score::kUniform;
  EXPECT_TRUE(refused("expected score = dot"));
  EXPECT_TRUE(asked_.empty());
}

}  // namespace
}  // namespace headtorch::train
