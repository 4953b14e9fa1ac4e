#include "train/row_references.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "src/tasks/series_rows.hpp"

namespace headtorch::train {
namespace {

TEST(RowErrors, AreThoseOfTheTestRows) {
  tasks::Rows rows;
  rows.y = {100, 1, 2, 3};
  rows.test = {1, 2, 3};
  const RowErrors errors = errors_of(rows, {1, 2, 6});
  EXPECT_DOUBLE_EQ(errors.rmse, std::sqrt(3.0));
  EXPECT_DOUBLE_EQ(errors.mae, 1.0);
  EXPECT_DOUBLE_EQ(errors.r2, 1.0 - 9.0 / 2.0);
}

// Mean squared errors of numpy and scikit-learn on the same rows: ../shared/reference/baselines.json,
// nile_lags1_4, made by its script 09_baselines.py.
TEST(RowReferences, AreThoseOfIndependentProgramsOnTheNile) {
  tasks::TaskOptions options;
  options.name = "series";
  options.file = HEADTORCH_SOURCE_DIR "/data/nile.csv";
  options.column = "volume_1e8_m3";
  options.lags = 4;
  const tasks::Rows rows = tasks::series_rows(options).rows;
  ASSERT_EQ(rows.known.size(), 76U);
  ASSERT_EQ(rows.test.size(), 20U);
  std::map<std::string, RowReference> found;
  for (const RowReference& reference : series_references(rows, {})) found[reference.name] = reference;
  const auto mse = [&](const std::string& name) { return std::pow(found.at(name).errors.rmse, 2); };
  EXPECT_NEAR(mse("last value"), 23435.2, 1e-6);
  EXPECT_NEAR(mse("mean"), 16845.161876731298, 1e-6);
  EXPECT_NEAR(mse("linear on lags"), 15867.777627355224, 1e-6);
  EXPECT_NEAR(mse("k nearest"), 15901.492520775622, 1e-6);
  EXPECT_EQ(found.at("k nearest").choice, "k 19");
  EXPECT_NEAR(mse("Nadaraya-Watson, one bandwidth"), 15335.787791646706, 1.0);
  EXPECT_EQ(found.at("Nadaraya-Watson, one bandwidth").choice, "h 0.962");
  EXPECT_NEAR(mse("Nadaraya-Watson, one bandwidth a column"), 19280.897733127997, 1.0);
  EXPECT_NEAR(found.at("mean").errors.r2, -0.12476185853551658, 1e-9);
}

}  // namespace
}  // namespace headtorch::train
