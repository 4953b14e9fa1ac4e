#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "src/core/error.hpp"
#include "src/core/file.hpp"
#include "src/tasks/rows_task.hpp"
#include "src/tasks/series_rows.hpp"
#include "src/tasks/table_rows.hpp"
#include "tests/tasks/examples.hpp"

namespace headtorch::tasks {
namespace {

using test::make_with;
using testing::ElementsAre;
using testing::HasSubstr;

/// A file of this test alone, gone with it.
class CsvTask : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  std::string file(std::string_view bytes) {
    write_file(path_, bytes);
    return path_.string();
  }
  /// 40 rows of a, day, w and y = line of the file.
  std::string table(std::string_view changed_cell = {}, int changed_line = 0) {
    std::string bytes = "a,day,w,constant,y\n";
    for (int line = 2; line <= 41; ++line) {
      const std::string y = line == changed_line ? std::string(changed_cell) : std::to_string(line);
      bytes +=
          fmt::format("{},2012-01-{:02},{},7,{}\n", line * line, line % 28 + 1, line % 2 ? "fog" : "rain", y);
    }
    return file(bytes);
  }
  std::string series(int values) {
    std::string bytes = "t,y\n";
    for (int t = 0; t < values; ++t) bytes += fmt::format("{},{}\n", t, 100 + t);
    return file(bytes);
  }

 private:
  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() /
      fmt::format("headtorch-{}-{}.csv", testing::UnitTest::GetInstance()->current_test_info()->name(),
                  testing::UnitTest::GetInstance()->random_seed());
};

TaskOptions table_options(std::string file) {
  TaskOptions options;
  options.name = "table";
  options.file = std::move(file);
  options.target = "y";
  return options;
}

TaskOptions series_options(std::string file, std::int64_t lags, std::int64_t horizon) {
  TaskOptions options;
  options.name = "series";
  options.file = std::move(file);
  options.column = "y";
  options.lags = lags;
  options.horizon = horizon;
  return options;
}

std::string refusal(const TaskOptions& options) {
  try {
    make_with(options);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST_F(CsvTask, table_splits_rows_by_the_seed_without_overlap) {
  const TaskOptions options = table_options(table());
  const Rows rows = table_rows(options, 1).rows;
  EXPECT_EQ(rows.test.size(), 8U);
  EXPECT_EQ(rows.validation.size(), 4U);
  std::set<std::size_t> all;
  for (const auto* part : {&rows.train, &rows.validation, &rows.test}) all.insert(part->begin(), part->end());
  EXPECT_EQ(all.size(), 40U);
  EXPECT_EQ(table_rows(options, 1).rows.test, rows.test);
  EXPECT_NE(table_rows(options, 2).rows.test, rows.test);
}

TEST_F(CsvTask, table_scales_by_the_training_rows_alone) {
  const Rows rows = table_rows(table_options(table()), 1).rows;
  EXPECT_THAT(rows.features, ElementsAre("a", "day", "w = fog", "w = rain", "constant"));
  double sum = 0.0, squares = 0.0;
  for (const std::size_t row : rows.train) sum += rows.y[row];
  const double mean = sum / static_cast<double>(rows.train.size());
  for (const std::size_t row : rows.train) squares += std::pow(rows.y[row] - mean, 2);
  EXPECT_NEAR(rows.y_scaling.mean, mean, 1e-12);
  EXPECT_NEAR(rows.y_scaling.sd, std::sqrt(squares / static_cast<double>(rows.train.size())), 1e-12);
  EXPECT_EQ(rows.x_scaling[4].scaled(7.0), 0.0F);
  EXPECT_EQ(rows.x_scaling[4].scaled(8.0), 0.0F);
}

TEST_F(CsvTask, table_asks_every_test_row_once_and_shows_training_rows) {
  const auto task = make_with(table_options(table()));
  const Rows rows = table_rows(table_options(table()), 1).rows;
  const Batch batch = task->batch(Split::kTest, 0, task->size(Split::kTest));
  std::multiset<std::int64_t> asked, known, expected_asked, expected_known;
  for (const std::size_t row : rows.test) expected_asked.insert(rows.lines[row]);
  for (const std::size_t row : rows.train) expected_known.insert(rows.lines[row]);
  for (std::size_t at = 0; at < batch.tokens.size(); ++at) {
    if (batch.labels[at] != kNotCounted) {
      asked.insert(batch.lines[at]);
      EXPECT_NEAR(rows.y_scaling.original(batch.values[at]), static_cast<double>(batch.lines[at]), 1e-4);
    } else if (batch.tokens[at] == 0) {
      known.insert(batch.lines[at]);
    }
  }
  EXPECT_EQ(asked, expected_asked);
  EXPECT_EQ(known, expected_known);
  EXPECT_THAT(task->position_text(batch, 0),
              HasSubstr(fmt::format("line {} ({})", batch.lines[0], batch.lines[0])));
}

TEST_F(CsvTask, table_hides_the_value_of_an_asked_row) {
  const Rows rows = table_rows(table_options(table()), 1).rows;
  const auto line = static_cast<int>(rows.lines[rows.test[0]]);
  const auto before = make_with(table_options(table()));
  const auto after = make_with(table_options(table("1e6", line)));
  for (const Split split : {Split::kTrain, Split::kValidation, Split::kTest}) {
    const Batch a = before->batch(split, 0, 1), b = after->batch(split, 0, 1);
    EXPECT_EQ(a.features, b.features);
    EXPECT_EQ(a.tokens, b.tokens);
    EXPECT_EQ(a.values == b.values, split != Split::kTest);
  }
  const Batch batch = before->batch(Split::kTrain, 0, 4);
  const auto width = static_cast<std::size_t>(before->shape().n_features);
  for (std::size_t at = 0; at < batch.tokens.size(); ++at) {
    if (batch.tokens[at] == before->shape().asked_token) {
      EXPECT_EQ(batch.features[(at + 1) * width - 1], 0.0F);
    }
  }
}

TEST_F(CsvTask, table_examples_do_not_depend_on_the_batch) {
  const auto task = make_with(table_options(table()));
  const Batch all = task->batch(Split::kTrain, 0, 5), one = task->batch(Split::kTrain, 3, 1);
  EXPECT_EQ(test::row(all.features, all.length * task->shape().n_features, 3), one.features);
  EXPECT_EQ(test::row(all.lines, all.length, 3), one.lines);
}

TEST_F(CsvTask, table_refuses_by_name) {
  TaskOptions options = table_options(table());
  options.target = "z";
  EXPECT_THAT(refusal(options), HasSubstr("expected one of a, day, w, constant, y"));
  options.target = "w";
  EXPECT_THAT(refusal(options), HasSubstr("column w: holds words, expected numbers"));
  options = table_options(table("", 5));
  EXPECT_THAT(refusal(options), HasSubstr("line 5, column y: a missing value"));
  options.missing = table::Missing::kDrop;
  EXPECT_EQ(table_rows(options, 1).rows.y.size(), 39U);
  options.leave_out = "a, day,w,constant";
  EXPECT_THAT(refusal(options), HasSubstr("no column"));
  options.leave_out = "days";
  EXPECT_THAT(refusal(options), HasSubstr("did you mean day?"));
  std::string texts = "name,y\n";
  for (int i = 0; i < 30; ++i) texts += fmt::format("n{},{}\n", i, i);
  options = table_options(file(texts));
  EXPECT_THAT(refusal(options), HasSubstr("--leave-out name"));
  EXPECT_THAT(refusal(table_options(file("a,y\n1,2\n3,4\n"))), HasSubstr("gives 2 rows"));
  std::string flat = "a,y\n";
  for (int i = 0; i < 30; ++i) flat += fmt::format("{},5\n", i);
  EXPECT_THAT(refusal(table_options(file(flat))), HasSubstr("column y"));
}

TEST_F(CsvTask, series_rows_are_lags_and_a_value_ahead) {
  const Rows rows = series_rows(series_options(series(60), 3, 2)).rows;
  EXPECT_THAT(std::vector<double>(rows.x_of(0).begin(), rows.x_of(0).end()), ElementsAre(102, 101, 100));
  EXPECT_EQ(rows.y[0], 104.0);
  EXPECT_EQ(rows.lines[0], 6);
  EXPECT_EQ(rows.y.size(), 56U);
  EXPECT_EQ(rows.test.size(), 12U);
  EXPECT_EQ(rows.test.back(), 55U);
  EXPECT_EQ(rows.x_scaling[2].mean, rows.y_scaling.mean);
}

TEST_F(CsvTask, series_knows_nothing_that_comes_later) {
  for (const std::int64_t horizon : {1, 4}) {
    const Rows rows = series_rows(series_options(series(60), 3, horizon)).rows;
    const auto newest_lag = [&](std::size_t row) { return rows.x_of(row)[0]; };
    for (const std::size_t row : rows.known) EXPECT_LE(rows.y[row], newest_lag(rows.test.front()));
    for (const std::size_t row : rows.train) EXPECT_LE(rows.y[row], newest_lag(rows.validation.front()));
    EXPECT_EQ(rows.y[rows.known.back()], newest_lag(rows.test.front()));
  }
}

TEST_F(CsvTask, series_of_lags_has_the_oldest_first_and_its_label_last) {
  const auto task = make_with(series_options(series(60), 3, 1));
  const Rows rows = series_rows(series_options(series(60), 3, 1)).rows;
  const Batch batch = task->batch(Split::kTest, 0, 1);
  EXPECT_THAT(batch.labels, ElementsAre(kNotCounted, kNotCounted, 0));
  const double newest = rows.x_of(rows.test[0])[0];
  EXPECT_NEAR(rows.y_scaling.original(batch.features[2]), newest, 1e-4);
  EXPECT_NEAR(rows.y_scaling.original(batch.features[0]), newest - 2, 1e-4);
  EXPECT_NEAR(rows.y_scaling.original(batch.values[2]), newest + 1, 1e-4);
}

TEST_F(CsvTask, g12_window_longer_than_the_model_reads) {
  TaskOptions options = series_options(series(100), 20, 1);
  options.seq_len = 16;
  EXPECT_THAT(refusal(options), testing::AllOf(HasSubstr("20"), HasSubstr("16")));
}

TEST_F(CsvTask, series_refuses_by_name) {
  EXPECT_THAT(refusal(series_options(file("y\n1\n2\n"), 3, 1)), HasSubstr("2 values, lags = 3"));
  TaskOptions options = series_options(series(60), 3, 1);
  options.column = "x";
  EXPECT_THAT(refusal(options), HasSubstr("expected one of t, y"));
  options.column = "";
  EXPECT_THAT(refusal(options), HasSubstr("--column with one of t, y"));
  std::string dates = "d,y\n";
  for (int i = 0; i < 28; ++i) dates += fmt::format("2012-01-{:02},{}\n", 28 - i, i);
  EXPECT_THAT(refusal(series_options(file(dates), 3, 1)), HasSubstr("line 3, column d: is not after"));
  options = series_options(file("x\n1\n"), 3, 1);
  options.target = "x";
  EXPECT_THAT(refusal(options), HasSubstr("only table has it"));
}

TEST_F(CsvTask, series_drops_rows_with_a_hole) {
  std::string bytes = "t,y\n";
  for (int t = 0; t < 60; ++t) bytes += t == 30 ? fmt::format("{},\n", t) : fmt::format("{},{}\n", t, t);
  TaskOptions options = series_options(file(bytes), 3, 1);
  EXPECT_THAT(refusal(options), HasSubstr("line 32, column y: a missing value"));
  options.missing = table::Missing::kDrop;
  EXPECT_EQ(series_rows(options).rows.y.size(), 60U - 3U - 4U);
}

TEST_F(CsvTask, numbers_far_from_zero_keep_their_differences) {
  std::string bytes = "t,y\n";
  for (int t = 0; t < 60; ++t) bytes += fmt::format("{},{}\n", t, 1e12 + t);
  const Rows rows = series_rows(series_options(file(bytes), 1, 1)).rows;
  EXPECT_GT(rows.y_scaling.scaled(rows.y[1]) - rows.y_scaling.scaled(rows.y[0]), 0.0F);
}

}  // namespace
}  // namespace headtorch::tasks
