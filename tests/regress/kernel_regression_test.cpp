#include "src/regress/kernel_regression.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "src/regress/leave_one_out.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/naive_regression.hpp"

namespace headtorch::regress {
namespace {

constexpr Kernel kKernels[] = {Kernel::kGaussian, Kernel::kExponential, Kernel::kEpanechnikov, Kernel::kBox};

TEST(KernelRegression, TendsToTheNearestPointAndIsNeverNotANumber) {
  const Sample sample(std::vector{0.0, 1.0, 2.0}, std::vector{1.0, 3.0, 5.0});
  for (const Kernel kernel : kKernels) {
    const auto values =
        kernel_regression(sample, {kernel, Degree::kConstant}, 0.01, std::vector{0.0, 10.0, 1.5, -5.0});
    EXPECT_THAT(values, ::testing::ElementsAre(1.0, 5.0, 4.0, 1.0));
  }
  const auto smooth = kernel_regression(sample, {}, 1.0, std::vector{0.0, 0.5, 10.0});
  const std::vector<double> expected{2.0071972, 2.4660872, 4.9995931};
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(smooth[i], expected[i], 5e-8);
  for (const Kernel kernel : kKernels) {
    for (const Degree degree : {Degree::kConstant, Degree::kLinear}) {
      for (const double h : {2.3e-308, 1e-100, 1.0, 1e300}) {
        for (const double value :
             kernel_regression(sample, {kernel, degree}, h, std::vector{-1e300, 0.3, 1e9, 1e308}))
          EXPECT_FALSE(std::isnan(value));
      }
    }
  }
}

TEST(KernelRegression, OnePointAnswersEverywhere) {
  const Sample sample(std::vector{2.0}, std::vector{7.0});
  for (const Kernel kernel : kKernels) {
    for (const Degree degree : {Degree::kConstant, Degree::kLinear}) {
      EXPECT_THAT(kernel_regression(sample, {kernel, degree}, 0.5, std::vector{-1e6, 2.0, 2.3}),
                  ::testing::ElementsAre(7.0, 7.0, 7.0));
    }
  }
}

TEST(KernelRegression, ALineIsItsOwnLocalLine) {
  std::vector<double> x, y;
  for (int i = 0; i < 30; ++i) {
    x.push_back(0.1 * i * i);
    y.push_back(4.0 - 0.5 * x.back());
  }
  const std::vector<double> places{50.0, -3.0, 7.7};
  for (const Kernel kernel : kKernels) {
    const auto values = kernel_regression(Sample(x, y), {kernel, Degree::kLinear}, 60.0, places);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(values[i], 4.0 - 0.5 * places[i], 1e-11);
  }
}

TEST(KernelRegression, IsTheDefinitionToRounding) {
  const test::Points points =
      test::noisy_points(150, [](Random& random, std::size_t) { return random.uniform(); });
  std::vector<double> places;
  for (int i = 0; i < 60; ++i) places.push_back(-0.5 + std::fmod(0.37 * i, 2.0));
  places.push_back(points.x[3]);
  for (const Kernel kernel : kKernels) {
    for (const Degree degree : {Degree::kConstant, Degree::kLinear}) {
      for (double h = 1e-4; h < 100.0; h *= 2.9) {
        const auto values = kernel_regression(Sample(points.x, points.y), {kernel, degree}, h, places);
        for (std::size_t i = 0; i < places.size(); ++i) {
          const double expected = test::naive_fit(points, {kernel, degree}, h, places[i]);
          ASSERT_NEAR(values[i], expected, 1e-10 * (1.0 + std::abs(expected)))
              << "h " << h << " at " << places[i];
        }
      }
    }
  }
}

TEST(KernelRegression, RefusesAPlaceOrBandwidthThatIsNoNumber) {
  const Sample sample(std::vector{0.0, 1.0}, std::vector{1.0, 3.0});
  EXPECT_TRUE(test::fails(
      [&] {
        kernel_regression(sample, {}, 1.0, std::vector{0.0, std::nan("")});
      },
      ExitCode::kBadData, ::testing::HasSubstr("place")));
  EXPECT_TRUE(
      test::fails([&] { kernel_regression(sample, {}, 0.0, std::vector{0.0}); }, ExitCode::kBadConfig));
  EXPECT_TRUE(kernel_regression(sample, {}, 1.0, {}).empty());
}

/// tests/golden/kernel_regression.json: direct float64 sums in numpy on two public series; it says which.
nlohmann::json golden() {
  std::ifstream in(HEADTORCH_SOURCE_DIR "/tests/golden/kernel_regression.json");
  return nlohmann::json::parse(in)["cases"];
}

constexpr std::pair<Degree, const char*> kDegrees[] = {{Degree::kConstant, "constant"},
                                                       {Degree::kLinear, "linear"}};

TEST(KernelRegression, IsWhatDirectSumsInNumpyGive) {
  for (const auto& known : golden()) {
    const auto x = known["x"].get<std::vector<double>>(), y = known["y"].get<std::vector<double>>();
    const Sample sample(x, y);
    const double sd = std::sqrt(test::mean_square(y, std::vector<double>(y.size(), sample.y_mean())));
    for (const auto& [degree, name] : kDegrees) {
      const Smoother smoother{Kernel::kGaussian, degree};
      const double h = known["minimum"][name]["h"], least = known["minimum"][name]["error"];
      EXPECT_NEAR(leave_one_out_errors(sample, smoother, std::vector{h})[0], least, 1e-10 * least);
      for (const auto& row : known["errors"]) {
        if (!row.contains(name)) continue;
        const double error = row[name];
        EXPECT_NEAR(leave_one_out_errors(sample, smoother, std::vector{row["h"].get<double>()})[0], error,
                    1e-10 * error)
            << known["name"] << ", " << name << ", h " << row["h"];
      }
      for (const auto& row : known["fitted"][name]) {
        EXPECT_NEAR(kernel_regression(sample, smoother, h, std::vector{row["x"].get<double>()})[0], row["f"],
                    1e-12 * sd)
            << known["name"] << ", " << name << " at " << row["x"];
      }
    }
    for (const auto& row : known["errors"]) {
      const double slope = row["slope"];
      EXPECT_NEAR(gaussian_leave_one_out(sample, row["h"]).slope, slope,
                  1e-10 * row["constant"].get<double>());
    }
  }
}

}  // namespace
}  // namespace headtorch::regress
