#include "train/comparison.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <mutex>
#include <thread>

#include "src/core/error.hpp"

// The logic of a comparison, with a stand-in for training whose results are known.

namespace headtorch::train {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Validation and test accuracy of a model, made up.
struct Quality {
  double validation = 0.0, test = 0.0;
};
using Nature = std::function<Quality(const RunConfig&)>;

/// Stands in for run_training and remembers what it was asked.
class FakeTrainer {
 public:
  explicit FakeTrainer(Nature nature) : nature_(std::move(nature)) {}

  RunResult operator()(const RunConfig& config, const tasks::Task& task, const RunObserver& observer) {
    const Quality quality = nature_(config);
    Evaluation validation, test;
    validation.token_accuracy = validation.loss = quality.validation;
    test.token_accuracy = test.loss = quality.test;
    if (observer.on_evaluation) {
      observer.on_evaluation(config.train.steps / 2, Evaluation{}, 0.0);
      observer.on_evaluation(config.train.steps, validation, 0.0);
    }
    if (observer.on_checkpoint) {
      observer.on_checkpoint(config.train.steps,
                             {{"model.safetensors", fmt::format("weights of {}", config.train.seed)}});
    }
    RunResult result;
    result.steps = config.train.steps;
    result.parameters = config.model.n_layers * 1000;
    result.seconds = 2.0;
    result.test = test;
    const std::lock_guard lock(mutex_);
    asked_.push_back({config, task.size(tasks::Split::kTest), task.n_free_running(),
                      bool{observer.on_evaluation}, bool{observer.on_checkpoint}});
    return result;
  }

  struct Asked {
    RunConfig config;
    std::int64_t n_test, n_free_running;
    bool chooses, keeps;
  };
  const std::vector<Asked>& asked() const { return asked_; }

 private:
  Nature nature_;
  std::mutex mutex_;
  std::vector<Asked> asked_;
};

ComparisonOptions options_with(FakeTrainer& trainer) {
  ComparisonOptions options;
  options.train = [&trainer](const RunConfig& config, const tasks::Task& task, const RunObserver& observer) {
    return trainer(config, task, observer);
  };
  options.replace = [](const RunConfig& config, const tasks::Task&, std::string_view model, std::int64_t) {
    EXPECT_EQ(model, fmt::format("weights of {}", config.train.seed));
    Evaluation replaced;
    replaced.token_accuracy = replaced.loss = 0.9;
    return replaced;
  };
  return options;
}

Quality both(double value) { return {value, value}; }

/// reverse as training.md reports it, a little different for each seed.
Quality reverse(const RunConfig& config) {
  const nn::ScoreOptions& attention = config.model.attention;
  const double noise = 0.001 * static_cast<double>(config.train.seed % 3);
  switch (attention.score) {
    case nn::Score::kSelf:
      return both(0.1 + noise);
    case nn::Score::kUniform:
      return both(0.24 + noise);
    case nn::Score::kDot:
      return both(0.997 + noise);
    case nn::Score::kFixedGaussian:
      if (attention.kernel_slope.front() == -1.0) return both(0.997 + noise);
      return both((attention.bandwidth.front() == 2.0 ? 0.38 : 0.3) + noise);
    default:
      return both(0.3 + noise);
  }
}

RunConfig reverse_config() { return default_config("reverse"); }

TEST(Comparison, ReverseNeedsOnlyAFixedKernel) {
  FakeTrainer trainer(reverse);
  const Comparison comparison = compare(reverse_config(), options_with(trainer), {});
  std::vector<std::string> names;
  for (const probe::ComparisonRow& row : comparison.rows) {
    names.push_back(row.name);
    EXPECT_EQ(row.values.size(), 4U) << row.name;
    EXPECT_EQ(row.parameters, row.n_layers * 1000);
    EXPECT_EQ(row.steps, 600);
    EXPECT_DOUBLE_EQ(row.seconds, 2.0);
  }
  EXPECT_THAT(
      names, ElementsAre("no mixing", "uniform", "Gaussian around the own position, h 2",
                         "Gaussian at the mirrored position, h 0.35",
                         "attention without query and key projections", "one learned head in one layer",
                         "one learned head in each of 2 layers", "2 learned heads in one layer",
                         "2 learned heads in each of 2 layers", "every head replaced by its nearest kernel"));
  const probe::ComparisonRow& replaced = comparison.rows.back();
  EXPECT_EQ(replaced.kind, probe::RowKind::kReplaced);
  EXPECT_THAT(replaced.values, ElementsAre(0.9, 0.9, 0.9, 0.9));
  EXPECT_EQ(std::pair(replaced.n_heads, replaced.n_layers), std::pair(std::int64_t{2}, std::int64_t{2}));
  EXPECT_THAT(comparison.verdict.reason, HasSubstr("more than kernels one could have written down"));
  EXPECT_EQ(comparison.verdict.outcome, 3);
  EXPECT_EQ(comparison.metric.best_possible, 1.0);
  EXPECT_LE(comparison.screened.size(), 24U);
  for (const probe::ComparisonRow& row : comparison.screened) EXPECT_EQ(row.values.size(), 1U);
}

TEST(Comparison, ChoosesOnOneSeedAndReportsOnOthers) {
  FakeTrainer trainer(reverse);
  RunConfig config = reverse_config();
  config.train.seed = 7;
  compare(config, options_with(trainer), {});
  std::size_t n_screened = 0, n_finalists = 0, n_reported = 0;
  for (const FakeTrainer::Asked& asked : trainer.asked()) {
    const TrainOptions& train = asked.config.train;
    EXPECT_EQ(train.threads, 1);
    EXPECT_EQ(train.eval_every + train.heatmap_every + train.checkpoint_every, 0);
    EXPECT_EQ(asked.n_free_running, 0);
    if (asked.chooses) {
      EXPECT_EQ(train.seed, 7);
      EXPECT_EQ(asked.n_test, 0);
      EXPECT_TRUE(train.steps == 150 || train.steps == config.train.steps) << train.steps;
      ++(train.steps == 150 ? n_screened : n_finalists);
    } else {
      EXPECT_GE(train.seed, 8);
      EXPECT_LE(train.seed, 11);
      EXPECT_EQ(asked.n_test, 2000);
      EXPECT_EQ(train.steps, config.train.steps);
      ++n_reported;
      const models::ModelOptions& model = asked.config.model;
      EXPECT_EQ(asked.keeps,
                model.attention.score == nn::Score::kDot && model.n_heads == 2 && model.n_layers == 2);
    }
  }
  EXPECT_LE(n_screened, 23U);
  EXPECT_EQ(n_finalists, 4U);
  EXPECT_EQ(n_reported, 9U * 4U);
}

TEST(Comparison, TestDataAndOtherSeedsDoNotChoose) {
  // h 4 is best where it may not be looked at.
  FakeTrainer trainer([](const RunConfig& config) {
    const bool is_four = config.model.attention.bandwidth.front() == 4.0;
    if (config.train.seed != 1) return is_four ? both(0.9) : reverse(config);
    return is_four ? Quality{0.2, 0.9} : reverse(config);
  });
  EXPECT_EQ(compare(reverse_config(), options_with(trainer), {}).rows[2].name,
            "Gaussian around the own position, h 2");
}

TEST(Comparison, FinalistsAreJudgedAfterAllSteps) {
  FakeTrainer trainer([](const RunConfig& config) {
    const double h = config.model.attention.bandwidth.front();
    const bool early = config.train.steps == 150;
    if (config.model.attention.score == nn::Score::kFixedGaussian && h == 4.0)
      return both(early ? 0.37 : 0.9);
    return reverse(config);
  });
  EXPECT_EQ(compare(reverse_config(), options_with(trainer), {}).rows[2].name,
            "Gaussian around the own position, h 4");
}

TEST(Comparison, NumbersDoNotDependOnTheNumberOfThreads) {
  const auto run = [](std::int64_t threads) {
    FakeTrainer trainer([](const RunConfig& config) {
      std::this_thread::sleep_for(
          std::chrono::microseconds((config.train.seed * 977 + config.train.steps) % 700));
      return reverse(config);
    });
    RunConfig config = reverse_config();
    config.train.threads = threads;
    return compare(config, options_with(trainer), {});
  };
  const Comparison one = run(1), many = run(7);
  ASSERT_EQ(one.rows.size(), many.rows.size());
  for (std::size_t i = 0; i < one.rows.size(); ++i) {
    EXPECT_EQ(one.rows[i].name, many.rows[i].name);
    EXPECT_EQ(one.rows[i].values, many.rows[i].values);
  }
  EXPECT_EQ(one.verdict.verdict, many.verdict.verdict);
}

TEST(Comparison, ProgressCountsEveryTraining) {
  FakeTrainer trainer(reverse);
  std::vector<std::int64_t> done;
  std::int64_t all = 0;
  compare(reverse_config(), options_with(trainer),
          [&](std::int64_t n, std::int64_t of, const std::string& name) {
            done.push_back(n);
            all = of;
            EXPECT_FALSE(name.empty());
          });
  ASSERT_EQ(static_cast<std::int64_t>(done.size()), all);
  for (std::size_t i = 0; i < done.size(); ++i) EXPECT_EQ(done[i], static_cast<std::int64_t>(i) + 1);
}

TEST(Comparison, ADivergedTrainingCountsAsNoNumberAndIsNeverChosen) {
  FakeTrainer trainer(reverse);
  ComparisonOptions options = options_with(trainer);
  options.train = [&](const RunConfig& config, const tasks::Task& task, const RunObserver& observer) {
    RunResult result = trainer(config, task, observer);
    const bool diverges = config.model.attention.score == nn::Score::kFixedGaussian &&
                          config.model.attention.bandwidth.front() == 2.0;
    if (diverges || (config.model.attention.score == nn::Score::kUniform && config.train.seed == 3)) {
      result.ending = Ending::kDiverged;
    }
    return result;
  };
  const Comparison comparison = compare(reverse_config(), options, {});
  EXPECT_NE(comparison.rows[2].name, "Gaussian around the own position, h 2");
  EXPECT_TRUE(std::isnan(comparison.rows[1].values[1]));
  EXPECT_FALSE(std::isnan(comparison.rows[1].values[0]));
}

TEST(Comparison, NothingIsReplacedInADivergedModel) {
  FakeTrainer trainer(reverse);
  ComparisonOptions options = options_with(trainer);
  options.train = [&](const RunConfig& config, const tasks::Task& task, const RunObserver& observer) {
    RunResult result = trainer(config, task, observer);
    if (config.model.attention.score == nn::Score::kDot && config.train.seed == 3)
      result.ending = Ending::kDiverged;
    return result;
  };
  const probe::ComparisonRow replaced = compare(reverse_config(), options, {}).rows.back();
  EXPECT_TRUE(std::isnan(replaced.values[1]));
  EXPECT_EQ(replaced.values[0], 0.9);
}

TEST(Comparison, EqualOperationsGiveCheaperModelsMoreSteps) {
  FakeTrainer trainer(reverse);
  ComparisonOptions options = options_with(trainer);
  options.match = Match::kOperations;
  const RunConfig config = reverse_config();
  const Comparison comparison = compare(config, options, {});
  for (const probe::ComparisonRow& row : comparison.rows) {
    const bool is_full = row.score == "dot" && row.n_layers == 2;
    EXPECT_EQ(row.steps == config.train.steps, is_full) << row.name;
    EXPECT_GE(row.steps, config.train.steps) << row.name;
  }
  for (const FakeTrainer::Asked& asked : trainer.asked()) {
    if (asked.config.train.steps != 150) {
      EXPECT_EQ(asked.config.train.steps > config.train.steps,
                asked.config.model.attention.score != nn::Score::kDot || asked.config.model.n_layers == 1);
    }
  }
}

TEST(Comparison, BaselineTrainsNothingLearned) {
  FakeTrainer trainer(reverse);
  ComparisonOptions options = options_with(trainer);
  options.rows = Rows::kFixedOnly;
  options.n_seeds = 3;
  const Comparison comparison = compare(reverse_config(), options, {});
  EXPECT_EQ(comparison.rows.size(), 4U);
  EXPECT_EQ(comparison.verdict.outcome, 3);
  EXPECT_THAT(comparison.verdict.verdict, HasSubstr("attention is likely to gain"));
  for (const FakeTrainer::Asked& asked : trainer.asked())
    EXPECT_NE(asked.config.model.attention.score, nn::Score::kDot);
}

TEST(Comparison, TextIsComparedByLoss) {
  const std::filesystem::path file = std::filesystem::path(::testing::TempDir()) / "comparison_text.txt";
  std::ofstream(file) << std::string(50000, 'a') + std::string(50000, 'b');
  FakeTrainer trainer([](const RunConfig& config) {
    const double noise = 0.01 * static_cast<double>(config.train.seed % 2);
    return both((config.model.attention.score == nn::Score::kSelf  ? 2.5
                 : config.model.attention.score == nn::Score::kDot ? 1.8
                                                                   : 2.2) +
                noise);
  });
  RunConfig config = default_config("text");
  config.task.file = file.string();
  config.task.seq_len = 4;
  const Comparison comparison = compare(config, options_with(trainer), {});
  EXPECT_EQ(comparison.metric.name, "loss");
  EXPECT_FALSE(comparison.metric.best_possible);
  EXPECT_EQ(comparison.verdict.outcome, 8);
  EXPECT_THAT(comparison.verdict.verdict, HasSubstr("nats a character"));
  EXPECT_LE(comparison.screened.size(), 10U);
  EXPECT_GT(trainer.asked().back().n_test, 2000);  // all of it
  std::filesystem::remove(file);
}

TEST(Comparison, ASignalStopsItWithItsExitCode) {
  for (const auto& [ending, code] : {std::pair{Ending::kInterrupted, ExitCode::kInterrupted},
                                     std::pair{Ending::kTerminated, ExitCode::kTerminated}}) {
    ComparisonOptions options;
    std::atomic<int> trained = 0;
    options.train = [&, end = ending](const RunConfig&, const tasks::Task&, const RunObserver&) {
      RunResult result;
      if (++trained > 5) result.ending = end;
      return result;
    };
    RunConfig config = reverse_config();
    config.train.threads = 1;
    try {
      compare(config, options, {});
      FAIL() << "expected an error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      EXPECT_THAT(error.what(), HasSubstr("stopped by a signal after 5 of "));
    }
    EXPECT_EQ(trained, 6);
  }
}

TEST(Comparison, AnErrorInATrainingReachesTheCaller) {
  ComparisonOptions options;
  options.train = [](const RunConfig&, const tasks::Task&, const RunObserver&) -> RunResult {
    throw ConfigError("device", "there is none");
  };
  EXPECT_THROW(compare(reverse_config(), options, {}), ConfigError);
}

TEST(Comparison, RefusesOptionsOutOfRangeBeforeTraining) {
  const auto refused = [](const std::function<void(ComparisonOptions&, RunConfig&)>& change) {
    FakeTrainer trainer(reverse);
    ComparisonOptions options = options_with(trainer);
    RunConfig config = reverse_config();
    change(options, config);
    EXPECT_THROW(compare(config, options, {}), ConfigError);
    EXPECT_TRUE(trainer.asked().empty());
  };
  refused([](ComparisonOptions& options, RunConfig&) { options.n_seeds = 0; });
  refused([](ComparisonOptions& options, RunConfig&) { options.n_seeds = 101; });
  refused([](ComparisonOptions& options, RunConfig&) { options.screen_steps = 0; });
  refused([](ComparisonOptions& options, RunConfig&) { options.bandwidths = {1, 2, 3, 4}; });
  refused([](ComparisonOptions& options, RunConfig&) { options.bandwidths = {0.0}; });
  refused([](ComparisonOptions& options, RunConfig&) { options.bandwidths = {std::nan("")}; });
  refused([](ComparisonOptions&, RunConfig& config) { config.model.n_heads = 3; });
}

}  // namespace
}  // namespace headtorch::train
