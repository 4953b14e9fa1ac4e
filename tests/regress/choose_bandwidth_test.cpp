#include <gtest/gtest.h>

#include <cmath>

#include "src/regress/criteria.hpp"
#include "src/regress/leave_one_out.hpp"
#include "src/regress/regression.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/naive_regression.hpp"

namespace headtorch::regress {
namespace {

constexpr Kernel kKernels[] = {Kernel::kGaussian, Kernel::kExponential, Kernel::kEpanechnikov, Kernel::kBox};
constexpr Degree kDegrees[] = {Degree::kConstant, Degree::kLinear};

RegressionData one_column(const test::Points& points) {
  return {.x = {{.numbers = points.x}}, .y = {.numbers = points.y}};
}

test::Points uniform_points(std::size_t n) {
  return test::noisy_points(n, [](Random& random, std::size_t) { return random.uniform(); });
}

/// y depends on column 0 and, where there is one, on the category; column 1 is noise.
RegressionData mixed(std::size_t n) {
  Random random(3, 0);
  RegressionData data{.x = {{}, {}, {.n_categories = 3}}, .y = {}};
  for (std::size_t i = 0; i < n; ++i) {
    data.x[0].numbers.push_back(random.uniform());
    data.x[1].numbers.push_back(100 * random.uniform());
    data.x[2].codes.push_back(random.below(3));
    data.y.numbers.push_back(std::sin(7 * data.x[0].numbers[i]) + static_cast<double>(data.x[2].codes[i]) +
                             0.2 * test::normal(random));
  }
  return data;
}

RegressionData with_classes(RegressionData data) {
  data.y.n_categories = 2;
  for (const double y : data.y.numbers) data.y.codes.push_back(y > 1.0 ? 1 : 0);
  data.y.numbers.clear();
  return data;
}

TEST(ChooseBandwidth, FindsTheLeastScoreOfAFineGrid) {
  const RegressionData data = one_column(uniform_points(120));
  for (const Kernel kernel : kKernels) {
    for (const Degree degree : kDegrees) {
      const Smoother smoother{kernel, degree};
      const ChosenBandwidth found = choose_bandwidth(data, smoother, {});
      const Sample sample(data.x[0].numbers, data.y.numbers);
      for (double h = 0.002; h < 2; h *= 1.003) {
        const double score = leave_one_out_errors(sample, smoother, std::span(&h, 1))[0];
        EXPECT_GE(score, found.score * (kernel == Kernel::kBox ? 0.97 : 1 - 1e-9)) << h;
      }
      EXPECT_EQ(found.minima[0].score, found.score);
      EXPECT_TRUE(found.edges.empty());
    }
  }
}

TEST(ChooseBandwidth, FindsTheLeastAiccWhereNarrowBandwidthsHaveNone) {
  const RegressionData data = one_column(uniform_points(60));
  for (const Kernel kernel : kKernels) {
    for (const Degree degree : kDegrees) {
      const Smoother smoother{kernel, degree};
      const ChosenBandwidth found = choose_bandwidth(data, smoother, {.choice = Choice::kAicc});
      for (double h = 0.002; h < 2; h *= 1.02) {
        const auto aicc = regression_statistics(data, smoother, {h}).aicc;
        EXPECT_GE(aicc.value_or(found.score), found.score - (kernel == Kernel::kBox ? 0.05 : 1e-9)) << h;
      }
    }
  }
}

TEST(ChooseBandwidth, KeepsItsDigitsWhereXBeginsFarAway) {
  test::Points points = test::noisy_points(80, [](Random& random, std::size_t) { return random.uniform(); });
  for (double& x : points.x) x = std::floor(1024 * x);
  const double h = choose_bandwidth(one_column(points), {}, {}).bandwidth[0];
  for (double& x : points.x) x += 1e15;
  EXPECT_NEAR(choose_bandwidth(one_column(points), {}, {}).bandwidth[0], h, 1e-9 * h);
}

TEST(ChooseBandwidth, OfNoiseIsTheCeiling) {
  Random random(5, 0);
  RegressionData data = one_column(uniform_points(100));
  // Left out, the mean is the best there is for y whose neighbours differ.
  for (std::size_t i = 0; i < 100; ++i)
    data.x[0].numbers[i] = static_cast<double>(i), data.y.numbers[i] = i % 2 == 0 ? 1 : -1;
  const ChosenBandwidth found = choose_bandwidth(data, {}, {});
  EXPECT_TRUE(found.is_at_edge);
  EXPECT_EQ(found.edges, std::vector<std::size_t>{0});
  EXPECT_EQ(found.bandwidth[0], 99e3);
}

TEST(ChooseBandwidth, OfWhatDoesNotVary) {
  RegressionData data = one_column(uniform_points(30));
  data.x[0].numbers.assign(30, 4.0);
  for (const Choice choice : {Choice::kCrossValidation, Choice::kAicc, Choice::kRuleOfThumb}) {
    const ChosenBandwidth flat = choose_bandwidth(data, {}, {.choice = choice});
    EXPECT_EQ(flat.bandwidth, std::vector{1.0});
    EXPECT_TRUE(flat.minima.empty());
  }
  data = one_column(uniform_points(30));
  data.y.numbers.assign(30, 0.1);
  const ChosenBandwidth same = choose_bandwidth(data, {}, {});
  EXPECT_TRUE(same.is_at_edge);
  EXPECT_NEAR(same.score, 0.0, 1e-30);

  RegressionData wide = mixed(60);
  wide.x.push_back({.numbers = std::vector<double>(60, 7.0)});
  wide.x.push_back({.codes = std::vector<std::int64_t>(60, 1), .n_categories = 2});
  const ChosenBandwidth found = choose_bandwidth(wide, {}, {});
  EXPECT_EQ(found.bandwidth[3], 1.0);
  EXPECT_EQ(found.bandwidth[4], 0.0);
  EXPECT_NEAR(found.score, choose_bandwidth(mixed(60), {}, {}).score, 1e-9 * found.score);
}

TEST(ChooseBandwidth, SmoothsOutAColumnOfNoise) {
  const ChosenBandwidth found = choose_bandwidth(mixed(150), {}, {});
  EXPECT_LT(found.bandwidth[0], 0.3);
  EXPECT_GT(found.bandwidth[1], 30.0);
  EXPECT_LT(found.bandwidth[2], 0.2);
  EXPECT_EQ(found.curve.size(), 41u);
  for (const CurvePoint& point : found.curve)
    EXPECT_GE(point.score, found.score * (1 - 1e-9)) << point.bandwidth;
}

TEST(ChooseBandwidth, OfSeveralColumnsWithoutSlopes) {
  const RegressionData data = mixed(80);
  for (const Kernel kernel : {Kernel::kEpanechnikov, Kernel::kBox}) {
    const ChosenBandwidth found = choose_bandwidth(data, {kernel, Degree::kConstant}, {});
    EXPECT_LT(found.score, 0.25) << "the variance of y is above 1";
  }
}

TEST(ChooseBandwidth, OfClasses) {
  const RegressionData data = with_classes(mixed(150));
  const ChosenBandwidth found = choose_bandwidth(data, {}, {});
  const ClassStatistics statistics = class_statistics(data, Kernel::kGaussian, found.bandwidth);
  EXPECT_NEAR(statistics.log_loss, found.score, 1e-12);
  EXPECT_LT(statistics.log_loss, 0.6 * statistics.log_loss_of_shares);
  const RegressionData one{.x = {data.x[0]}, .y = data.y};
  const ChosenBandwidth of_one = choose_bandwidth(one, {}, {});
  EXPECT_NEAR(class_statistics(one, Kernel::kGaussian, of_one.bandwidth).log_loss, of_one.score, 1e-12);
}

TEST(ChooseBandwidth, Sweep) {
  const RegressionData data = one_column(uniform_points(60));
  const ChosenBandwidth found =
      choose_bandwidth(data, {}, {.choice = Choice::kSweep, .given = {}, .sweep = {0.01, 1.0, 5}});
  ASSERT_EQ(found.curve.size(), 5u);
  EXPECT_NEAR(found.curve[2].bandwidth, 0.1, 1e-15);
  double least = found.curve[0].score;
  for (const CurvePoint& point : found.curve) least = std::min(least, point.score);
  EXPECT_EQ(found.score, least);
}

TEST(ChooseBandwidth, RefusesWhatHasNoAnswer) {
  const RegressionData data = one_column(uniform_points(20)), several = mixed(20),
                       classes = with_classes(mixed(20));
  const auto refuses = [](const RegressionData& of, const BandwidthRequest& request, ExitCode code,
                          Smoother smoother = {}) {
    return test::fails([&] { choose_bandwidth(of, smoother, request); }, code);
  };
  for (const double h : {0.0, -1.0, 1e-320, std::nan(""), HUGE_VAL}) {
    EXPECT_TRUE(refuses(data, {.choice = Choice::kGiven, .given = {h}}, ExitCode::kBadConfig));
    EXPECT_TRUE(refuses(several, {.choice = Choice::kGiven, .given = {1, h, 0.1}}, ExitCode::kBadConfig));
    EXPECT_TRUE(
        refuses(data, {.choice = Choice::kSweep, .given = {}, .sweep = {h, 1, 5}}, ExitCode::kBadConfig));
  }
  EXPECT_TRUE(refuses(several, {.choice = Choice::kGiven, .given = {1, 1, 0.7}}, ExitCode::kBadConfig));
  EXPECT_TRUE(refuses(several, {.choice = Choice::kGiven, .given = {1, 1}}, ExitCode::kBadConfig));
  EXPECT_TRUE(
      refuses(data, {.choice = Choice::kSweep, .given = {}, .sweep = {1, 1, 5}}, ExitCode::kBadConfig));
  EXPECT_TRUE(refuses(several, {.choice = Choice::kPlugIn}, ExitCode::kBadConfig));
  EXPECT_TRUE(refuses(several, {.choice = Choice::kRuleOfThumb}, ExitCode::kBadConfig));
  EXPECT_TRUE(refuses(classes, {.choice = Choice::kAicc}, ExitCode::kBadConfig));
  EXPECT_TRUE(refuses(classes, {}, ExitCode::kBadConfig, {Kernel::kGaussian, Degree::kLinear}));
  EXPECT_TRUE(refuses(one_column(uniform_points(1)), {}, ExitCode::kBadData));
  EXPECT_TRUE(refuses(one_column({{1, HUGE_VAL}, {1, 2}}), {}, ExitCode::kBadData));
}

TEST(ChooseBandwidth, TwoPointsAndDuplicates) {
  const ChosenBandwidth two = choose_bandwidth(one_column({{1, 2}, {5, 7}}), {}, {});
  EXPECT_TRUE(two.is_at_edge);
  EXPECT_EQ(two.score, 4.0);
  test::Points points = uniform_points(25);
  for (std::size_t i = 0; i < 25; ++i) points.x[i] = static_cast<double>(i);
  test::Points twice = points;
  twice.x.insert(twice.x.end(), points.x.begin(), points.x.end());
  twice.y.insert(twice.y.end(), points.y.begin(), points.y.end());
  const ChosenBandwidth found = choose_bandwidth(one_column(twice), {}, {});  // each point knows its own twin
  EXPECT_TRUE(found.is_at_edge);
  EXPECT_LT(found.score, 1e-20);
}

/// Central differences in ln h.
template <class Evaluate>
void expect_slopes(const Evaluate& evaluate, const std::vector<double>& bandwidth, const char* what) {
  const Score score = evaluate(bandwidth, Slopes::kAll);
  for (std::size_t k = 0; k < bandwidth.size(); ++k) {
    constexpr double kStep = 1e-3;
    const auto at = [&](double steps) {
      std::vector<double> moved = bandwidth;
      moved[k] *= std::exp(steps * kStep);
      return evaluate(moved, Slopes::kNone).value;
    };
    const double numeric = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * kStep);
    EXPECT_NEAR(score.slope[k], numeric, 1e-8 * (std::abs(score.value) + 1)) << what << ", column " << k;
  }
}

TEST(Criteria, SlopesAreDerivatives) {
  const RegressionData data = mixed(60), classes = with_classes(mixed(60));
  const std::vector<double> bandwidth{0.1, 25.0, 0.2};
  for (const Kernel kernel : {Kernel::kGaussian, Kernel::kExponential}) {
    for (const Degree degree : kDegrees) {
      DirectFit fit(data, {kernel, degree});
      expect_slopes([&](const auto& h, Slopes slopes) { return squared_error(fit, h, slopes); }, bandwidth,
                    "cv");
      expect_slopes([&](const auto& h, Slopes slopes) { return aicc(fit, h, slopes); }, bandwidth, "aicc");
    }
    ProductKernel product(classes.x, kernel);
    expect_slopes([&](const auto& h, Slopes slopes) { return log_loss(product, classes.y.codes, h, slopes); },
                  bandwidth, "log loss");
  }
}

TEST(Criteria, DirectIsFastInOneColumn) {
  const test::Points points = uniform_points(70);
  const RegressionData data = one_column(points);
  for (const Kernel kernel : kKernels) {
    for (const Degree degree : kDegrees) {
      DirectFit fit(data, {kernel, degree});
      for (const double h : {1e-5, 0.003, 0.05, 0.4, 30.0}) {
        const double direct = squared_error(fit, std::vector{h}, Slopes::kNone).value;
        const double fast = regression_statistics(data, {kernel, degree}, {h}).cv;
        EXPECT_NEAR(direct, fast, 1e-9 * fast)
            << static_cast<int>(kernel) << static_cast<int>(degree) << " " << h;
      }
    }
  }
}

}  // namespace
}  // namespace headtorch::regress
