#include "src/regress/leave_one_out.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "src/regress/sample.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/naive_regression.hpp"

namespace headtorch::regress {
namespace {

using test::Points;

constexpr Kernel kKernels[] = {Kernel::kGaussian, Kernel::kExponential, Kernel::kEpanechnikov, Kernel::kBox};

std::vector<Smoother> smoothers() {
  std::vector<Smoother> all;
  for (const Degree degree : {Degree::kConstant, Degree::kLinear}) {
    for (const Kernel kernel : kKernels) all.push_back({kernel, degree});
  }
  return all;
}

std::string name_of(const Smoother& smoother) {
  constexpr const char* kNames[] = {"Gaussian", "exponential", "Epanechnikov", "box"};
  return std::string(kNames[static_cast<int>(smoother.kernel)]) +
         (smoother.degree == Degree::kConstant ? ", constant" : ", linear");
}

Points uniform_points(std::size_t n) {
  return test::noisy_points(n, [](Random& random, std::size_t) { return random.uniform(); });
}

Sample sample_of(const Points& points) { return {points.x, points.y}; }

double error_at(const Points& points, const Smoother& smoother, double h) {
  return leave_one_out_errors(sample_of(points), smoother, std::vector{h})[0];
}

Points changed(Points points, double x_factor, double x_shift, double y_factor, double y_shift) {
  for (double& x : points.x) x = x_factor * x + x_shift;
  for (double& y : points.y) y = y_factor * y + y_shift;
  return points;
}

TEST(LeaveOneOut, DoesNotDependOnTheOrderOfThePoints) {
  Points points =
      test::noisy_points(60, [](Random& random, std::size_t) { return std::floor(20 * random.uniform()); });
  for (const Smoother& smoother : smoothers()) {
    Points turned = points;
    std::reverse(turned.x.begin(), turned.x.end());
    std::reverse(turned.y.begin(), turned.y.end());
    for (const double h : {0.3, 1.5, 40.0}) {
      EXPECT_EQ(error_at(points, smoother, h), error_at(turned, smoother, h)) << name_of(smoother);
      std::vector<double> values = leave_one_out_values(sample_of(turned), smoother, h);
      std::reverse(values.begin(), values.end());
      EXPECT_EQ(values, leave_one_out_values(sample_of(points), smoother, h)) << name_of(smoother);
    }
  }
}

TEST(LeaveOneOut, FollowsTheUnitsOfXAndY) {
  const Points points = uniform_points(80);
  for (const Smoother& smoother : smoothers()) {
    for (const double h : {0.002, 0.05, 3.0}) {
      const double error = error_at(points, smoother, h);
      EXPECT_EQ(error_at(changed(points, 1024.0, 0.0, 1.0, 0.0), smoother, 1024.0 * h), error);
      EXPECT_EQ(error_at(changed(points, 1.0, 0.0, -8.0, 0.0), smoother, h), 64.0 * error);
      EXPECT_NEAR(error_at(changed(points, -1.0, 0.0, 1.0, 0.0), smoother, h), error, 1e-12 * error)
          << name_of(smoother);
      EXPECT_NEAR(error_at(changed(points, 1.0, 0.0, 1.0, 500.0), smoother, h), error, 1e-10 * error)
          << name_of(smoother);
    }
  }
}

TEST(LeaveOneOut, DoesNotDependOnWhereXBegins) {
  // Whole 1024ths, so that the shift changes no difference.
  const Points points = test::noisy_points(
      80, [](Random& random, std::size_t) { return std::floor(1e6 * random.uniform()) / 1024.0; });
  for (const Smoother& smoother : smoothers()) {
    for (const double h : {3.0, 50.0, 1e4}) {
      const double error = error_at(points, smoother, h);
      EXPECT_NEAR(error_at(changed(points, 1.0, 65536.0, 1.0, 0.0), smoother, h), error, 1e-10 * error)
          << name_of(smoother);
    }
  }
}

TEST(LeaveOneOut, WideBandwidthGivesTheMeanOfTheOthersOrTheLine) {
  const Points points = uniform_points(50);
  const double mean = std::accumulate(points.y.begin(), points.y.end(), 0.0) / 50.0;
  const double variance = test::mean_square(points.y, std::vector<double>(50, mean));
  for (const Kernel kernel : kKernels) {
    EXPECT_NEAR(error_at(points, {kernel, Degree::kConstant}, 1e14), variance * std::pow(50.0 / 49.0, 2),
                1e-12);
  }
  Points line = points;
  for (std::size_t i = 0; i < 50; ++i) line.y[i] = 3.0 - 2.0 * line.x[i];
  for (const Kernel kernel : kKernels) {
    for (const double h : {0.2, 1e5}) EXPECT_LT(error_at(line, {kernel, Degree::kLinear}, h), 1e-24);
  }
}

TEST(LeaveOneOut, NarrowBandwidthGivesTheNearestNeighbours) {
  const std::vector<double> x{0.0, 1.0, 3.0, 7.0, 11.0}, y{5.0, 1.0, 2.0, 9.0, -4.0};
  const Sample sample(x, y);
  for (const Kernel kernel : kKernels) {
    for (const double h : {1e-3, 1e-200, 2.3e-308}) {
      const auto values = leave_one_out_values(sample, {kernel, Degree::kConstant}, h);
      const std::vector<double> expected{1.0, 5.0, 1.0, -1.0, 9.0};  // 7 has two nearest, 3 and 11
      for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(values[i], expected[i], 1e-14) << i;
    }
  }
}

TEST(LeaveOneOut, EqualXAreNeighboursAtAnyBandwidth) {
  const Sample sample(std::vector{1.0, 1.0, 1.0, 4.0, 4.0}, std::vector{3.0, 6.0, 0.0, 7.0, 9.0});
  for (const Smoother& smoother : smoothers()) {
    const auto values = leave_one_out_values(sample, smoother, 1e-3);
    const std::vector<double> expected{3.0, 1.5, 4.5, 9.0, 7.0};
    for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(values[i], expected[i], 1e-14) << name_of(smoother);
  }
}

TEST(LeaveOneOut, ConstantXGivesTheMeanOfTheOthers) {
  Points points = uniform_points(2000);
  std::fill(points.x.begin(), points.x.end(), -3.5);
  const double sum = std::accumulate(points.y.begin(), points.y.end(), 0.0);
  for (const Smoother& smoother : smoothers()) {
    const auto values = leave_one_out_values(sample_of(points), smoother, 0.1);
    for (const std::size_t i : {0, 999, 1999})
      EXPECT_NEAR(values[i], (sum - points.y[i]) / 1999.0, 1e-13) << name_of(smoother);
  }
}

TEST(LeaveOneOut, TwoPointsSeeEachOther) {
  const Sample sample(std::vector{0.0, 1e3}, std::vector{1.0, 2.0});
  for (const Smoother& smoother : smoothers()) {
    for (const double h : {1e-3, 1.0, 1e6}) {
      EXPECT_EQ(leave_one_out_values(sample, smoother, h), (std::vector{2.0, 1.0})) << name_of(smoother);
    }
  }
}

struct Layout {
  const char* name;
  Points points;
};

std::vector<Layout> layouts() {
  const auto draw = test::noisy_points<double (*)(Random&, std::size_t)>;
  return {{"uniform", uniform_points(200)},
          {"far from 0", draw(200, [](Random& r, std::size_t) { return 1e6 + r.uniform(); })},
          {"ties", draw(200, [](Random& r, std::size_t) { return std::floor(20 * r.uniform()); })},
          {"skewed", draw(200, [](Random& r, std::size_t) { return std::exp(3 * test::normal(r)); })},
          {"clusters", draw(200,
                            [](Random& r, std::size_t i) {
                              return 10.0 * static_cast<double>(i % 3) + 1e-3 * test::normal(r);
                            })},
          {"a crowd and a few", draw(600, [](Random& r, std::size_t i) {
             return i < 590 ? 0.01 * r.uniform() : 0.1 + 0.7 * static_cast<double>(i - 590);
           })}};
}

TEST(LeaveOneOut, IsTheDefinitionToRounding) {
  for (const auto& [name, points] : layouts()) {
    const double spread = std::sqrt(test::mean_square(points.y, std::vector<double>(points.y.size(), 0.0)));
    for (const Smoother& smoother : smoothers()) {
      const double tolerance = smoother.degree == Degree::kConstant ? 1e-13 : 1e-10;
      for (double h = 1e-4 * points.range(); h < 200 * points.range(); h *= 3.1) {
        const auto expected = test::naive_leave_one_out(points, smoother, h);
        const auto values = leave_one_out_values(sample_of(points), smoother, h);
        for (std::size_t i = 0; i < values.size(); ++i) {
          ASSERT_NEAR(values[i], expected[i], tolerance * (spread + std::abs(expected[i])))
              << name << ", " << name_of(smoother) << ", h " << h << ", point " << i;
        }
        const double error = test::mean_square(points.y, expected);
        ASSERT_NEAR(error_at(points, smoother, h), error, 1e-12 * error)
            << name << ", " << name_of(smoother) << ", h " << h;
      }
    }
  }
}

TEST(LeaveOneOut, KeepsItsDigitsBesideACrowdWhoseWeightsFade) {
  // 40,000 points within a tenth of a bandwidth, and one point at each distance.
  for (const double distance : {2.0, 4.0, 5.2, 5.4, 7.0, 9.5, 9.8, 12.0, 50.0}) {
    Points points =
        test::noisy_points(40001, [](Random& random, std::size_t) { return 0.1 * random.uniform(); });
    points.x[40000] = distance;
    for (const Kernel kernel : kKernels) {
      const Smoother smoother{kernel, Degree::kConstant};
      const double expected = test::naive_fit(points, smoother, 1.0, distance, 40000);
      EXPECT_NEAR(leave_one_out_values(sample_of(points), smoother, 1.0)[40000], expected, 3e-12)
          << name_of(smoother) << " at " << distance;
    }
  }
}

TEST(LeaveOneOut, WindowsCloseAtTheBandwidth) {
  Points points = uniform_points(60);
  for (std::size_t i = 0; i < 60; ++i) points.x[i] = static_cast<double>(i);
  for (const Smoother& smoother : smoothers()) {
    for (const double h : {1.0, 2.0, 1.0 + 1e-9, 3.0 + 1e-12, 1.0 - 1e-9}) {
      const auto values = leave_one_out_values(sample_of(points), smoother, h);
      const auto expected = test::naive_leave_one_out(points, smoother, h);
      for (std::size_t i = 0; i < 60; ++i)
        EXPECT_NEAR(values[i], expected[i], 1e-12) << name_of(smoother) << ", h " << h << ", point " << i;
    }
  }
  // The box holds its edge, where Epanechnikov's weight is 0: the two nearest are all it has then.
  EXPECT_NEAR(leave_one_out_values(sample_of(points), {Kernel::kBox, Degree::kConstant}, 2.0)[9],
              (points.y[7] + points.y[8] + points.y[10] + points.y[11]) / 4, 1e-15);
  EXPECT_NEAR(leave_one_out_values(sample_of(points), {Kernel::kEpanechnikov, Degree::kConstant}, 1.0)[9],
              (points.y[8] + points.y[10]) / 2, 1e-15);
}

TEST(LeaveOneOut, ManyBandwidthsAreEachOneAlone) {
  const Points points = uniform_points(40);
  const std::vector<double> bandwidths{0.5, 0.01, 7.0};
  for (const Smoother& smoother : smoothers()) {
    const auto errors = leave_one_out_errors(sample_of(points), smoother, bandwidths);
    ASSERT_EQ(errors.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(errors[i], error_at(points, smoother, bandwidths[i]));
  }
}

TEST(GaussianLeaveOneOut, SlopeIsTheDerivative) {
  for (const auto& [name, points] : layouts()) {
    const Sample sample = sample_of(points);
    for (double h = 1e-3 * points.range(); h < 20 * points.range(); h *= 2.3) {
      const ErrorAndSlope found = gaussian_leave_one_out(sample, h);
      EXPECT_NEAR(found.error, error_at(points, {}, h), 1e-13 * found.error);
      constexpr double kStep = 1e-4;
      const auto error = [&](double steps) {
        return gaussian_leave_one_out(sample, h * std::exp(steps * kStep)).error;
      };
      const double numeric = (8 * (error(1) - error(-1)) - (error(2) - error(-2))) / (12 * kStep);
      EXPECT_NEAR(found.slope, numeric, 1e-8 * found.error) << name << ", h " << h;
    }
  }
}

TEST(LeaveOneOut, RefusesWhatHasNoAnswer) {
  const Sample one(std::vector{1.0}, std::vector{2.0}), two(std::vector{1.0, 2.0}, std::vector{2.0, 3.0});
  EXPECT_TRUE(test::fails([&] { leave_one_out_values(one, {}, 1.0); }, ExitCode::kBadData,
                          ::testing::HasSubstr("at least two")));
  EXPECT_TRUE(test::fails([&] { gaussian_leave_one_out(one, 1.0); }, ExitCode::kBadData));
  for (const double h : {0.0, -1.0, 1e-320, std::nan(""), HUGE_VAL}) {
    EXPECT_TRUE(test::fails([&] { leave_one_out_values(two, {}, h); }, ExitCode::kBadConfig,
                            ::testing::HasSubstr("bandwidth")));
    EXPECT_TRUE(test::fails(
        [&] {
          leave_one_out_errors(two, {}, std::vector{1.0, h});
        },
        ExitCode::kBadConfig));
    EXPECT_TRUE(test::fails([&] { gaussian_leave_one_out(two, h); }, ExitCode::kBadConfig));
  }
}

}  // namespace
}  // namespace headtorch::regress
