#include "src/regress/references.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "src/regress/rules.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/reference_cases.hpp"

namespace headtorch::regress {
namespace {

using nlohmann::json;

RegressionData two_columns() {
  return {.x = {{.numbers = {0, 1, 2, 3, 10}}, {.numbers = {4, 4, 4, 4, 4}}},
          .y = {.numbers = {1, 3, 5, 7, 21}}};
}

const std::vector<Variable> kPlaces{{.numbers = {5, -1}}, {.numbers = {4, 9}}};

TEST(References, MeanAndLineAreThemselves) {
  EXPECT_THAT(mean_values(two_columns(), kPlaces), ::testing::ElementsAre(7.4, 7.4));
  const auto line = least_squares_values(two_columns(), kPlaces);
  EXPECT_NEAR(line[0], 11.0, 1e-12);  // 1 + 2 x; a constant column has no part
  EXPECT_NEAR(line[1], -1.0, 1e-12);
}

TEST(References, ACategoryMovesTheLine) {
  RegressionData data{
      .x = {{.numbers = {0, 1, 2, 0, 1, 2}}, {.codes = {0, 0, 0, 1, 1, 1}, .n_categories = 2}},
      .y = {.numbers = {1, 2, 3, 11, 12, 13}}};
  const auto values = least_squares_values(data, {{.numbers = {5, 5}}, {.codes = {0, 1}, .n_categories = 2}});
  EXPECT_NEAR(values[0], 6.0, 1e-12);
  EXPECT_NEAR(values[1], 16.0, 1e-12);
}

TEST(References, NearestNeighboursAsFarShareThePlace) {
  const RegressionData data{.x = {{.numbers = {0, 2, 4, 6}}}, .y = {.numbers = {0, 0, 10, 10}}};
  const NearestNeighbours found = nearest_neighbours(data, {{.numbers = {3, 5.1, -9}}});
  EXPECT_EQ(found.k, 1);  // left out: 0, 5, 5, 10
  EXPECT_NEAR(found.cv, 12.5, 1e-12);
  EXPECT_THAT(found.values, ::testing::ElementsAre(5, 10, 0));
}

TEST(References, RefuseWhatHasNoAnswer) {
  const RegressionData one{.x = {{.numbers = {1}}}, .y = {.numbers = {2}}};
  EXPECT_TRUE(test::fails([&] { nearest_neighbours(one, one.x); }, ExitCode::kBadData));
  EXPECT_TRUE(test::fails([&] { mean_values(two_columns(), one.x); }, ExitCode::kInternal));
  RegressionData classes = two_columns();
  classes.y = {.codes = {0, 1, 0, 1, 0}, .n_categories = 2};
  EXPECT_TRUE(test::fails([&] { least_squares_values(classes, kPlaces); }, ExitCode::kBadConfig));
}

// ../shared/reference/baselines.json: rows i % 5 == 4 are tested, of series the last fifth.
// ---------------------------

const json& baselines() {
  static const json known = [] {
    std::ifstream in(test::shared_folder() / "reference" / "baselines.json");
    return in ? json::parse(in)["regression"] : json{};
  }();
  return known;
}

struct Halves {
  RegressionData train;
  std::vector<Variable> places;
  std::vector<double> y;
};

Halves split(const RegressionData& data, bool is_series) {
  Halves halves{.train = {.x = std::vector<Variable>(data.x.size()), .y = {}},
                .places = std::vector<Variable>(data.x.size()),
                .y = {}};
  const std::size_t n = data.y.numbers.size();
  const auto first = static_cast<std::size_t>(0.8 * static_cast<double>(n));
  for (std::size_t i = 0; i < n; ++i) {
    const bool is_tested = is_series ? i >= first : i % 5 == 4;
    for (std::size_t k = 0; k < data.x.size(); ++k)
      (is_tested ? halves.places : halves.train.x)[k].numbers.push_back(data.x[k].numbers[i]);
    (is_tested ? halves.y : halves.train.y.numbers).push_back(data.y.numbers[i]);
  }
  return halves;
}

/// The rows of kernel.json's case, or lags of a series that it lacks.
RegressionData data_of(const std::string& name) {
  json known;
  if (name == "nile_lags1_4")
    known = {{"file", "nile.csv"}, {"y", "volume_1e8_m3"}, {"x", {"lag1", "lag2", "lag3", "lag4"}}};
  if (name == "sunspots_lags1_2")
    known = {{"file", "sunspots.csv"}, {"y", "sunspots"}, {"x", {"lag1", "lag2"}}};
  if (known.is_null()) {
    known = test::kernel_reference()["cases"].value(name, json{});
  }
  return known.is_null() ? RegressionData{} : test::reference_data(name, known);
}

class Baselines : public ::testing::TestWithParam<const char*> {};

TEST_P(Baselines, AreThoseOfNumpyAndSklearn) {
  if (baselines().is_null()) GTEST_SKIP() << "no ../shared/reference/baselines.json";
  const RegressionData data = data_of(GetParam());
  if (data.x.empty()) GTEST_SKIP() << "no ../shared/data for " << GetParam();
  const json& known = baselines()[GetParam()];
  const Halves halves = split(data, std::string(GetParam()).find("_lags") != std::string::npos);
  ASSERT_EQ(halves.y.size(), known["n_test"].get<std::size_t>());
  const auto error = [&](const std::vector<double>& values) {
    double sum = 0.0;
    for (std::size_t i = 0; i < values.size(); ++i) sum += std::pow(halves.y[i] - values[i], 2);
    return sum / static_cast<double>(values.size());
  };
  const auto expect_error = [&](double found, const char* method, double tolerance) {
    const double expected = known[method]["test_mse"];
    EXPECT_NEAR(found, expected, tolerance * expected) << method;
  };
  expect_error(error(mean_values(halves.train, halves.places)), "mean", 1e-10);
  expect_error(error(least_squares_values(halves.train, halves.places)), "ols", 1e-9);
  const NearestNeighbours nearest = nearest_neighbours(halves.train, halves.places);
  // Of rows as far, numpy's took those that its rounding put first.
  const bool has_ties = known["d"] == 1 || std::string(GetParam()) == "concrete";
  if (!has_ties) {
    EXPECT_EQ(nearest.k, known["knn"]["k"]);
  }
  expect_error(error(nearest.values), "knn", has_ties ? 0.12 : 1e-9);

  const ChosenBandwidth common = choose_common_bandwidth(halves.train, Kernel::kGaussian);
  const double h = known["nw_isotropic"]["h"], loo = known["nw_isotropic"]["loo_mse"];
  EXPECT_NEAR(common.bandwidth[0], h, 1e-5 * h);
  EXPECT_NEAR(common.score, loo, 1e-9 * loo);
  std::vector<double> bandwidth;
  for (const Variable& column : halves.train.x)
    bandwidth.push_back(common.bandwidth[0] * spread_of(column.numbers).sd);
  std::vector<double> values;
  for (const Estimate& one : estimate(halves.train, {}, bandwidth, halves.places))
    values.push_back(one.value);
  expect_error(error(values), "nw_isotropic", 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Cases, Baselines,
                         ::testing::Values("cps71", "mcycle", "faithful", "cars", "airquality_3", "diabetes",
                                           "concrete", "nile_lags1_4", "sunspots_lags1_2"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace headtorch::regress
