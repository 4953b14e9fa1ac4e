#include "src/regress/rules.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/errors.hpp"

namespace headtorch::regress {
namespace {

double fraction(double z) { return z - std::floor(z); }

/// The data of tests/golden/make_dpill.R.
Sample waves(std::size_t n, double n_waves) {
  std::vector<double> x, y;
  for (std::size_t i = 1; i <= n; ++i) {
    const auto at = static_cast<double>(i);
    x.push_back(fraction(at * 0.6180339887498949));
    const double radius = std::sqrt(-2 * std::log(1 - fraction(at * 0.41421356237309515)));
    y.push_back(std::sin(2 * M_PI * n_waves * x.back()) +
                0.3 * radius * std::cos(2 * M_PI * fraction(at * 0.7320508075688772)));
  }
  return {x, y};
}

TEST(PlugIn, IsDpillOfKernSmooth) {
  std::ifstream in(std::string(HEADTORCH_SOURCE_DIR) + "/tests/golden/dpill.json");
  const auto golden = nlohmann::json::parse(in);
  for (const auto& row : golden["rows"]) {
    const double expected = row["bandwidth"];
    EXPECT_NEAR(plug_in(waves(row["n"], row["waves"]), Kernel::kGaussian), expected, 1e-6 * expected)
        << row.dump();
  }
}

TEST(PlugIn, FollowsTheUnitsAndTheKernel) {
  const Sample sample = waves(200, 2);
  const double h = plug_in(sample, Kernel::kGaussian);
  std::vector<double> x(sample.x().begin(), sample.x().end()), y(sample.y().begin(), sample.y().end());
  for (double& value : x) value = 1024 * value;
  for (double& value : y) value = 7 - 8 * value;
  EXPECT_NEAR(plug_in({x, y}, Kernel::kGaussian), 1024 * h, 1e-9 * h * 1024);
  EXPECT_NEAR(plug_in(sample, Kernel::kEpanechnikov), 2.2138 * h,
              1e-4 * h);  // Wand and Jones 1995: 1.719 / 0.776
}

TEST(PlugIn, RefusesWhatHasNoCurvatureOrNoise) {
  EXPECT_TRUE(test::fails([] { plug_in(waves(9, 1), Kernel::kGaussian); }, ExitCode::kBadData));
  std::vector<double> x, y;
  for (int i = 0; i < 40; ++i) x.push_back(i), y.push_back(3.0);
  EXPECT_TRUE(test::fails(
      [&] {
        plug_in({x, y}, Kernel::kGaussian);
      },
      ExitCode::kBadData, ::testing::HasSubstr("noise")));
  EXPECT_TRUE(test::fails(
      [&] {
        plug_in({std::vector<double>(40, 1.0), x}, Kernel::kGaussian);
      },
      ExitCode::kBadData, ::testing::HasSubstr("6 different")));
}

TEST(RuleOfThumb, IsItsFormula) {
  const std::vector<double> x{0.0, 1.0, 2.0, 3.0, 4.0};
  // sd sqrt(2.5) = 1.581, interquartile range 2 / 1.349 = 1.483
  EXPECT_NEAR(rule_of_thumb(x, 1, Kernel::kGaussian), 1.06 * 2 / 1.349 * std::pow(5.0, -0.2), 1e-15);
  EXPECT_NEAR(rule_of_thumb(x, 3, Kernel::kGaussian), 1.06 * 2 / 1.349 * std::pow(5.0, -1.0 / 7), 1e-15);
  const std::vector<double> mostly_0{0.0, 0.0, 0.0, 0.0, 5.0};
  EXPECT_NEAR(rule_of_thumb(mostly_0, 1, Kernel::kGaussian), 1.06 * std::sqrt(5.0) * std::pow(5.0, -0.2),
              1e-15);
}

TEST(CanonicalFactor, IsThatOfMarronAndNolan) {
  EXPECT_EQ(canonical_factor(Kernel::kGaussian), 1.0);
  EXPECT_NEAR(canonical_factor(Kernel::kEpanechnikov), 1.7188 / 0.7764, 1e-4);
  EXPECT_NEAR(canonical_factor(Kernel::kBox), 1.3510 / 0.7764, 1e-4);
  // int K^2 = 1/4 and variance 2 of exp(-|u|) / 2
  EXPECT_NEAR(canonical_factor(Kernel::kExponential), std::pow(1.0 / 16, 0.2) / 0.7764, 1e-4);
}

}  // namespace
}  // namespace headtorch::regress
