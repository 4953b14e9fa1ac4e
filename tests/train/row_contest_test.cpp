#include "train/row_contest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>

#include "src/core/error.hpp"
#include "src/core/philox.hpp"
#include "train/trainings.hpp"

// Comparisons on rows of a file, with a stand-in for training.

namespace headtorch::train {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class RowContest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// y = 3 a - b and a little noise, 100 rows.
  RunConfig table() const {
    const std::filesystem::path file = folder_ / "table.csv";
    std::ofstream out(file);
    out << "a,b,y\n";
    Random random(5, 0, 0);
    for (int i = 0; i < 100; ++i) {
      const double a = random.uniform(), b = random.uniform();
      out << a << "," << b << "," << 3 * a - b + 0.01 * random.uniform() << "\n";
    }
    RunConfig config = default_config("table");
    config.task.file = file.string();
    config.task.target = "y";
    return config;
  }

  /// A period of 4 steps, 120 values.
  RunConfig series() const {
    const std::filesystem::path file = folder_ / "series.csv";
    std::ofstream out(file);
    out << "v\n";
    for (int t = 0; t < 120; ++t) out << (t % 4) * (t % 4) + 0.001 * t << "\n";
    RunConfig config = default_config("series");
    config.task.file = file.string();
    config.task.column = "v";
    config.task.lags = 6;
    return config;
  }

  std::filesystem::path folder_;
};

/// Remembers what is asked; RMSE by score, worse by a little with each seed.
struct FakeTrainer {
  std::mutex mutex;
  std::vector<RunConfig> asked;
  double learned = 2.0;

  ComparisonOptions options() {
    ComparisonOptions made;
    made.train = [this](const RunConfig& config, const tasks::Task& task, const RunObserver& observer) {
      const nn::Score score = config.model.attention.score;
      const double rmse = (score == nn::Score::kSelf              ? 9.0
                           : score == nn::Score::kFeatureGaussian ? 4.0
                           : score == nn::Score::kDot             ? learned
                                                                  : 8.0) +
                          0.01 * static_cast<double>(config.train.seed);
      Evaluation evaluation;
      evaluation.rmse = rmse;
      evaluation.mae = rmse / 2;
      evaluation.r2 = 0.5;
      if (observer.on_evaluation) observer.on_evaluation(config.train.steps, evaluation, 0.0);
      RunResult result;
      result.test = evaluation;
      result.seconds = static_cast<double>(task.size(tasks::Split::kTest));
      const std::lock_guard lock(mutex);
      asked.push_back(config);
      return result;
    };
    return made;
  }
};

std::vector<std::string> names(const std::vector<probe::ComparisonRow>& rows) {
  std::vector<std::string> all;
  for (const probe::ComparisonRow& row : rows) all.push_back(row.name);
  return all;
}

TEST_F(RowContest, ATableHasOneKernelAtEachSplitsOwnBandwidthAndReferences) {
  FakeTrainer trainer;
  const Comparison comparison = compare(table(), trainer.options(), {});
  const std::vector<std::string> all = names(comparison.rows);
  EXPECT_EQ(all[0], "no mixing");
  EXPECT_EQ(all[1], "uniform");
  EXPECT_THAT(all[2], StartsWith("Gaussian on the features, h "));
  EXPECT_THAT(all, Contains("mean"));
  EXPECT_THAT(all, Contains("linear"));
  EXPECT_THAT(all, Contains(StartsWith("k nearest, k ")));
  EXPECT_THAT(all, Contains(StartsWith("Nadaraya-Watson, one bandwidth, h ")));
  EXPECT_THAT(all, Contains("Nadaraya-Watson, one bandwidth a column"));
  EXPECT_THAT(all, Not(Contains(HasSubstr("replaced"))));
  EXPECT_TRUE(comparison.screened.empty());
  std::set<double> bandwidths;
  for (const RunConfig& asked : trainer.asked) {
    if (asked.model.attention.score == nn::Score::kFeatureGaussian)
      bandwidths.insert(asked.model.attention.bandwidth.front());
  }
  EXPECT_EQ(bandwidths.size(), 4U) << "one for each split";
  EXPECT_TRUE(comparison.rows[2].bandwidth);
  for (const probe::ComparisonRow& row : comparison.rows) {
    EXPECT_EQ(row.values.size(), 4U) << row.name;
    EXPECT_EQ(row.mae.size(), 4U) << row.name;
    EXPECT_EQ(row.r2.size(), 4U) << row.name;
  }
  EXPECT_EQ(comparison.metric.name, "rmse");
  EXPECT_EQ(comparison.metric.sample, "split");
  EXPECT_EQ(comparison.verdict.outcome, 8);
  EXPECT_THAT(comparison.verdict.verdict, StartsWith("A plain reference is ahead: linear, by "));
  EXPECT_THAT(comparison.verdict.verdict, HasSubstr("in units of y"));
}

TEST_F(RowContest, BandwidthsByHandTakeThePlaceOfTheChosenOne) {
  FakeTrainer trainer;
  ComparisonOptions options = trainer.options();
  options.bandwidths = {0.25, 2.0};
  const std::vector<std::string> all = names(compare(table(), options, {}).rows);
  EXPECT_EQ(all[2], "Gaussian on the features, h 0.25");
  EXPECT_EQ(all[3], "Gaussian on the features, h 2");
}

TEST_F(RowContest, ASeriesIsComparedInBothFormsOnRollingOrigins) {
  for (const tasks::Attend attend : {tasks::Attend::kLags, tasks::Attend::kRows}) {
    FakeTrainer trainer;
    RunConfig config = series();
    config.task.attend = attend;
    if (attend == tasks::Attend::kRows) config.model.position = nn::Position::kNone;
    const Comparison comparison = compare(config, trainer.options(), {});
    const std::vector<std::string> all = names(comparison.rows);
    EXPECT_THAT(all, Contains("one learned head in one layer, over rows"));
    EXPECT_THAT(all, Contains("one learned head in one layer, over lags"));
    EXPECT_THAT(all, Contains("last value"));
    EXPECT_THAT(all, Contains("last value a season before, 4 steps"));
    EXPECT_THAT(all, Contains("linear on lags"));
    EXPECT_EQ(comparison.metric.sample, "origin");
    EXPECT_FALSE(comparison.screened.empty());
    EXPECT_LE(comparison.screened.size(), 24U);
    const auto season = std::find_if(comparison.rows.begin(), comparison.rows.end(), [](const auto& row) {
      return row.name == "last value a season before, 4 steps";
    });
    for (const double rmse : season->values) EXPECT_NEAR(rmse, 0.004, 1e-9);
  }
}

TEST_F(RowContest, OriginsAreBlocksOfTheLastFifthEachAfterWhatItLearnsFrom) {
  const RunConfig config = series();
  ComparisonOptions options;
  std::vector<std::size_t> tested;
  for (std::int64_t k = 1; k <= 4; ++k) {
    const tasks::Rows rows = rows_of(task_for(config, options, k), 1);
    for (const std::size_t row : rows.known) EXPECT_LT(row, rows.test.front());
    tested.insert(tested.end(), rows.test.begin(), rows.test.end());
  }
  const tasks::Rows whole = rows_of(config.task, 1);
  EXPECT_EQ(tested, whole.test);
  // The seed that chooses sees no test row of the others.
  EXPECT_EQ(rows_of(task_for(config, options, 0), 1).known, rows_of(task_for(config, options, 1), 1).known);
}

TEST_F(RowContest, SizesKeepTheTestRowsAndAreWithinEachOther) {
  for (const RunConfig& config : {table(), series()}) {
    ComparisonOptions options;
    const tasks::Rows all = rows_of(task_for(config, options, 2), 7);
    options.n_train = 40;
    const tasks::Rows more = rows_of(task_for(config, options, 2), 7);
    options.n_train = 20;
    const tasks::Rows few = rows_of(task_for(config, options, 2), 7);
    EXPECT_EQ(few.test, all.test);
    EXPECT_EQ(few.known.size(), 20U);
    EXPECT_EQ(more.known.size(), 40U);
    EXPECT_TRUE(std::includes(more.known.begin(), more.known.end(), few.known.begin(), few.known.end()));
    EXPECT_TRUE(std::includes(all.known.begin(), all.known.end(), more.known.begin(), more.known.end()));
  }
}

TEST_F(RowContest, SizesAreComparedAndSaidFromWhereLearningIsAhead) {
  FakeTrainer trainer;
  ComparisonOptions options = trainer.options();
  options.sizes = {20, 40};
  std::int64_t done = 0, all = 0;
  const Comparison comparison =
      compare(table(), options, [&](std::int64_t n, std::int64_t of, const std::string&) {
        EXPECT_EQ(n, ++done);
        all = of;
      });
  EXPECT_EQ(done, all);
  ASSERT_EQ(comparison.sizes.size(), 3U);
  EXPECT_EQ(comparison.sizes[0].n, 20);
  EXPECT_EQ(comparison.sizes[2].n, 72);
  EXPECT_EQ(comparison.overtaking, "Learning overtakes the fixed kernel from 20 rows on.");
  trainer.learned = 5.0;
  EXPECT_THAT(compare(table(), options, {}).overtaking, HasSubstr("up to 72 rows"));
}

TEST_F(RowContest, RefusesSizesThatDoNotFitBeforeTraining) {
  FakeTrainer trainer;
  ComparisonOptions options = trainer.options();
  options.sizes = {50, 5000};
  EXPECT_THROW(compare(table(), options, {}), ConfigError);
  options.sizes = {50, 50};
  EXPECT_THROW(compare(table(), options, {}), ConfigError);
  options.sizes = {50};
  EXPECT_THROW(compare(default_config("reverse"), options, {}), ConfigError);
  EXPECT_TRUE(trainer.asked.empty());
}

}  // namespace
}  // namespace headtorch::train
