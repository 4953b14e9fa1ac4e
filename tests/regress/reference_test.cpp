#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <numeric>

#include "src/regress/regression.hpp"
#include "tests/support/naive_regression.hpp"
#include "tests/support/reference_cases.hpp"

// Every number of ../shared/reference/kernel.json (or of tests/golden/kernel_reference.json), within the
// tolerance that it states. Its local lines drop points of small weight (a cut-off of 1e-12 in its SVD, of
// 1e-10 in its search), which moves a few values at small bandwidths: there the definition in long double
// decides.

namespace headtorch::regress {
namespace {

using nlohmann::json;

constexpr double kBandwidth = 1e-5, kScore = 1e-10, kAtBandwidth = 1e-9, kFitted = 1e-6;
constexpr double kBandwidthOfSeveral = 1e-4;  // a flat valley, and two searches
constexpr Smoother kConstant{Kernel::kGaussian, Degree::kConstant},
    kLinear{Kernel::kGaussian, Degree::kLinear};

const json& reference() {
  static const json known = test::kernel_reference();
  return known;
}

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const auto& [name, known] : reference()["cases"].items()) names.push_back(name);
  return names;
}

class Reference : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!reference()["cases"].contains(GetParam()))
      GTEST_SKIP() << "without ../shared/reference there are no values for " << GetParam();
    known_ = reference()["cases"][GetParam()];
    data_ = test::reference_data(GetParam(), known_);
    if (data_.x.empty()) GTEST_SKIP() << "neither ../shared/data nor data has " << known_["file"];
    ASSERT_EQ(data_.y.numbers.size(), known_["n"].get<std::size_t>());
    sd_ = known_["y_sd_pop"];
  }

  void expect_statistics(const json& known, const Smoother& smoother, const std::vector<double>& bandwidth,
                         double tolerance) const {
    const RegressionStatistics found = regression_statistics(data_, smoother, bandwidth);
    const auto near = [&](double value, const char* name) {
      const double expected = known[name];
      EXPECT_NEAR(value, expected, tolerance * std::max(1.0, std::abs(expected))) << name;
    };
    if (known.contains("tr_S")) near(found.effective_df, "tr_S");
    if (known.contains("r2_sse")) near(found.r2, "r2_sse");
    if (known.contains("r2_corr")) near(found.r2_corr, "r2_corr");
    if (known.contains("loo_r2")) near(found.loo_r2, "loo_r2");
    if (known.contains("aicc") && known["aicc"].is_number() &&
        known["tr_S"].get<double>() + 2 < known_["n"]) {
      ASSERT_TRUE(found.aicc);
      near(*found.aicc, "aicc");
    }
    if (known.contains("tr_SST")) {
      const double n = known_["n"],
                   freedom = n - 2 * known["tr_S"].get<double>() + known["tr_SST"].get<double>();
      const double expected = std::sqrt(n * known["mse_in_sample"].get<double>() / freedom);
      // A small number of degrees of freedom is a difference of large ones.
      EXPECT_NEAR(found.residual_sd, expected, (10 * tolerance + 1e-14 * n / freedom) * expected);
    }
  }

  void expect_fitted(const json& known, const Smoother& smoother,
                     const std::vector<double>& bandwidth) const {
    if (!known.contains("fitted")) return;
    for (const auto& row : known["fitted"]) {
      std::vector<Variable> place;
      for (const double x : row["x"]) place.push_back({.numbers = {x}});
      EXPECT_NEAR(estimate(data_, smoother, bandwidth, place)[0].value, row["m"], kFitted * sd_) << row["at"];
    }
  }

  /// That the reference's leave-one-out error at `h` is not that of the definition, or no minimum of it.
  bool is_denied_by_the_definition(const Smoother& smoother, double h, double error) const {
    const test::Points points{data_.x[0].numbers, data_.y.numbers};
    const double exact = test::mean_square(points.y, test::naive_leave_one_out(points, smoother, h));
    EXPECT_NEAR(regression_statistics(data_, smoother, {h}).cv, exact, kAtBandwidth * exact);
    if (std::abs(error - exact) > kScore * exact) return true;
    // Flat to one side and falling to the other: rounding makes minima there.
    constexpr double kStep = 1.6;
    const auto change = [&](double at) {
      return regression_statistics(data_, smoother, {at}).cv / exact - 1;
    };
    return std::abs(change(h / kStep)) < kScore && change(h * kStep) < -kScore;
  }

  void expect_choice(const char* name, const Smoother& smoother, Choice choice) const {
    if (!known_.contains(name)) return;
    const json& known = known_[name];
    const ChosenBandwidth found = choose_bandwidth(data_, smoother, {.choice = choice});
    const double h = known["h"][0];
    SCOPED_TRACE(name);
    EXPECT_NEAR(found.bandwidth[0], h, kBandwidth * h);
    for (const auto& minimum : known["minima"]) {
      if (minimum["at_end"]) continue;
      const double at = minimum["h"], value = minimum["value"];
      const bool is_found = std::any_of(found.minima.begin(), found.minima.end(), [&](const Minimum& own) {
        const bool is_there = std::abs(own.bandwidth[0] - at) <= kBandwidth * at;
        // Where x are whole numbers, all narrow bandwidths score alike: a plateau, which has one place here.
        return (is_there || own.is_at_edge) && std::abs(own.score - value) <= kScore * std::abs(value);
      });
      EXPECT_TRUE(is_found || is_denied_by_the_definition(smoother, at, value)) << "no minimum at " << at;
    }
    expect_statistics(known, smoother, found.bandwidth, 1e-6);
    expect_statistics(known, smoother, {h}, kAtBandwidth);
    expect_fitted(known, smoother, {h});
  }

  json known_;
  RegressionData data_;
  double sd_ = 1.0;
};

TEST_P(Reference, OneColumn) {
  expect_choice("lc_cv_ls", kConstant, Choice::kCrossValidation);
  expect_choice("lc_aicc", kConstant, Choice::kAicc);
  expect_choice("ll_cv_ls", kLinear, Choice::kCrossValidation);
  expect_choice("ll_aicc", kLinear, Choice::kAicc);
}

TEST_P(Reference, StatisticsAtGivenBandwidths) {
  for (const auto& row : known_["at_h"]) {
    SCOPED_TRACE(row["h"].dump());
    const std::vector<double> bandwidth = row["h"];
    expect_statistics(row, kConstant, bandwidth, kAtBandwidth);
    const double cv = row["cv"];
    EXPECT_NEAR(regression_statistics(data_, kConstant, bandwidth).cv, cv, kAtBandwidth * cv);
    if (!row.contains("ll_cv")) continue;
    const RegressionStatistics line = regression_statistics(data_, kLinear, bandwidth);
    const double line_cv = row["ll_cv"];
    EXPECT_TRUE(std::abs(line.cv - line_cv) <= kAtBandwidth * line_cv ||
                is_denied_by_the_definition(kLinear, bandwidth[0], line_cv))
        << "line: " << line.cv << ", expected " << line_cv;
    EXPECT_NEAR(line.effective_df, row["ll_tr_S"], kAtBandwidth * line.effective_df) << "line";
  }
}

TEST_P(Reference, CommonBandwidth) {
  if (!known_.contains("lc_isotropic_cv_ls")) GTEST_SKIP() << "one column";
  const json& known = known_["lc_isotropic_cv_ls"];
  const ChosenBandwidth found = choose_common_bandwidth(data_, Kernel::kGaussian);
  const double h = known["h"][0], cv = known["cv"];
  EXPECT_NEAR(found.bandwidth[0], h, kBandwidth * h);
  EXPECT_NEAR(found.score, cv, kScore * cv);
}

TEST_P(Reference, SeveralColumns) {
  if (!known_.contains("lc_product_cv_ls")) GTEST_SKIP() << "one column";
  const json& known = known_["lc_product_cv_ls"];
  const ChosenBandwidth found = choose_bandwidth(data_, kConstant, {});
  const double cv = known["cv"];
  // The reference's is the best of its own starts: of concrete a lower one is found here.
  EXPECT_LE(found.score, cv * (1 + kScore));
  if (GetParam() != "concrete") {
    for (std::size_t k = 0; k < found.bandwidth.size(); ++k) {
      const double h = known["h"][k];
      // Matched exactly: any narrow bandwidth does.
      if (known_["x"][k] == "sex") continue;
      EXPECT_NEAR(found.bandwidth[k], h, kBandwidthOfSeveral * h) << known_["x"][k];
    }
  }
  expect_statistics(known, kConstant, known["h"], kAtBandwidth);
  expect_fitted(known, kConstant, known["h"]);
}

TEST_P(Reference, LineOfSeveralColumns) {
  std::ifstream in(test::shared_folder() / "reference" / "agreement.json");
  if (!in) GTEST_SKIP() << "no ../shared/reference/agreement.json";
  const json known = json::parse(in)["ll_product_cv_ls"].value(GetParam(), json{});
  if (known.is_null() || known_["n"] > 150) GTEST_SKIP() << "none, or long";
  const double cv = known["cv"];
  EXPECT_NEAR(regression_statistics(data_, kLinear, known["h"]).cv, cv, 1e-8 * cv);
  EXPECT_LE(choose_bandwidth(data_, kLinear, {}).score, cv * (1 + 1e-6));
}

class WherePeersStop : public Reference {};

TEST_P(WherePeersStop, TheGlobalMinimumIsFound) {
  // What statsmodels 0.15 and np 0.70 report for these: a local minimum, or a negative bandwidth.
  const std::map<std::string, double> peers{
      {"faithful", 0.5843}, {"nile_lag1", 84.02}, {"noisy_sine", -0.15948}};
  const ChosenBandwidth found = choose_bandwidth(data_, kConstant, {});
  EXPECT_GT(found.bandwidth[0], 0.0);
  const double theirs = std::abs(peers.at(GetParam()));
  EXPECT_LE(found.score, regression_statistics(data_, kConstant, {theirs}).cv);
  if (GetParam() != "noisy_sine") {
    EXPECT_LT(found.bandwidth[0], 0.5 * theirs);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, WherePeersStop, ::testing::Values("faithful", "nile_lag1", "noisy_sine"),
                         [](const auto& one) { return std::string(one.param); });
INSTANTIATE_TEST_SUITE_P(Cases, Reference, ::testing::ValuesIn(case_names()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace headtorch::regress
