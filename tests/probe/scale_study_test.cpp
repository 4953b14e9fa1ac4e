#include "src/probe/scale_study.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/errors.hpp"

namespace headtorch::probe {
namespace {

TEST(RowSharpness, of_equal_scores_is_that_of_uniform_weights) {
  for (const std::size_t n : {2, 16, 64}) {
    const RowSharpness row = row_sharpness(std::vector<double>(n, 700.0));
    const double p = 1.0 / static_cast<double>(n);
    EXPECT_NEAR(row.entropy, std::log(n), 1e-12);
    EXPECT_NEAR(row.max_weight, p, 1e-15);
    EXPECT_NEAR(row.jacobian_trace, 1.0 - p, 1e-12);
    // n diagonal entries p - p^2, the others -p^2.
    const double squares =
        static_cast<double>(n) * std::pow(p - p * p, 2) + static_cast<double>(n * (n - 1)) * std::pow(p, 4);
    EXPECT_NEAR(row.jacobian_norm, std::sqrt(squares), 1e-12);
  }
}

TEST(RowSharpness, jacobian_is_the_derivative_of_the_softmax) {
  const std::vector<double> scores = {0.3, -1.2, 2.0, 0.0};
  const auto softmax = [](const std::vector<double>& s) {
    std::vector<double> p;
    double sum = 0.0;
    for (const double x : s) sum += std::exp(x);
    for (const double x : s) p.push_back(std::exp(x) / sum);
    return p;
  };
  constexpr double kStep = 1e-5;
  double squares = 0.0, trace = 0.0;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    std::vector<double> up = scores, down = scores;
    up[j] += kStep;
    down[j] -= kStep;
    const std::vector<double> a = softmax(up), b = softmax(down);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const double slope = (a[i] - b[i]) / (2.0 * kStep);
      squares += slope * slope;
      if (i == j) trace += slope;
    }
  }
  const RowSharpness row = row_sharpness(scores);
  EXPECT_NEAR(row.jacobian_norm, std::sqrt(squares), 1e-9);
  EXPECT_NEAR(row.jacobian_trace, trace, 1e-9);
}

TEST(RowSharpness, a_score_far_ahead_leaves_no_gradient) {
  const RowSharpness row = row_sharpness(std::vector<double>{800.0, 0.0, -800.0});
  EXPECT_DOUBLE_EQ(row.max_weight, 1.0);
  EXPECT_DOUBLE_EQ(row.entropy, 0.0);
  EXPECT_NEAR(row.jacobian_norm, 0.0, 1e-12);
}

TEST(ScaleStudy, scores_spread_as_the_root_of_d) {
  for (const ScalePoint& point : study_scale({.samples = 400, .seed = 3})) {
    EXPECT_NEAR(point.score_sd.mean, std::sqrt(static_cast<double>(point.d)), 4.5 * point.score_sd.se);
    EXPECT_GT(point.score_sd.se, 0.0);
  }
}

TEST(ScaleStudy, same_seed_same_numbers_and_another_seed_others) {
  const ScaleStudyOptions options{.widths = {16}, .keys = {16}, .samples = 120, .seed = 5};
  ScaleStudyOptions other = options;
  other.seed = 6;
  const double first = study_scale(options)[0].unscaled.entropy.mean;
  EXPECT_EQ(first, study_scale(options)[0].unscaled.entropy.mean);
  EXPECT_NE(first, study_scale(other)[0].unscaled.entropy.mean);
}

TEST(ScaleStudy, without_the_scale_wide_heads_saturate_and_with_it_width_does_not_matter) {
  const auto points = study_scale({.keys = {64}, .samples = 400, .seed = 2});
  EXPECT_LT(points.back().unscaled.entropy.mean, points.front().unscaled.entropy.mean / 2.0);
  EXPECT_LT(points.back().unscaled.jacobian_norm.mean, points.back().scaled.jacobian_norm.mean);
  EXPECT_NEAR(points.back().scaled.entropy.mean, points.front().scaled.entropy.mean, 0.05);
  // The trap: a narrow head without the scale has the larger Jacobian.
  EXPECT_GT(points.front().unscaled.jacobian_norm.mean, points.front().scaled.jacobian_norm.mean);
}

TEST(ScaleStudy, refuses_samples_of_which_there_is_no_error) {
  EXPECT_TRUE(test::fails([] { study_scale({.samples = 1}); }, ExitCode::kBadConfig,
                          ::testing::HasSubstr("samples = 1")));
}

nlohmann::json reference() {
  const char* shared = std::getenv("HEADTORCH_SHARED");
  const std::filesystem::path folder = shared != nullptr
                                           ? std::filesystem::path(shared)
                                           : std::filesystem::path(HEADTORCH_SOURCE_DIR) / "../shared";
  std::ifstream file(folder / "reference/scale.json");
  return file ? nlohmann::json::parse(file) : nlohmann::json();
}

void expect_agrees(const Estimate& ours, double mean, double se, const std::string& what) {
  EXPECT_NEAR(ours.mean, mean, 4.0 * std::hypot(ours.se, se)) << what;
}

TEST(ScaleStudy, agrees_with_the_reference_within_the_errors_of_both) {
  const nlohmann::json wanted = reference();
  if (wanted.is_null()) GTEST_SKIP() << "shared/reference/scale.json is not there";
  const ScaleStudyOptions options;
  std::size_t compared = 0;
  for (const ScalePoint& point : study_scale(options)) {
    for (const auto& row : wanted["softmax"]) {
      if (row["d"] != point.d || row["n"] != point.n) continue;
      for (const auto& [name, ours] :
           {std::pair{"unscaled", &point.unscaled}, std::pair{"scaled", &point.scaled}}) {
        const auto& theirs = row[name];
        const std::string at = fmt::format("d {} n {} {} ", point.d, point.n, name);
        const auto agrees = [&](const Estimate& one, const char* key) {
          expect_agrees(one, theirs[key]["mean"], theirs[key]["se"], at + key);
          ++compared;
        };
        agrees(ours->entropy, "entropy");
        agrees(ours->max_weight, "max_weight");
        agrees(ours->jacobian_norm, "jac_frobenius");
        agrees(ours->jacobian_trace, "jac_trace");
        // The reference gives no error of its median; it has 200 times as many samples.
        expect_agrees(ours->jacobian_median, theirs["jac_frobenius"]["median"],
                      ours->jacobian_median.se / 14.0, at + "median");
        // A share that we found to be 0 has no error of its own: that of the reference's share with our n.
        const double share = theirs["share_max_weight_over_0.99"]["mean"];
        EXPECT_NEAR(ours->saturated.mean, share,
                    4.0 * std::sqrt(share * (1.0 - share) / static_cast<double>(options.samples)) + 1e-12)
            << at << "saturated";
      }
    }
    for (const auto& row : wanted["dot_product"]) {
      if (row["d"] == point.d) {
        expect_agrees(point.score_sd, row["std_exact"], 0.0, fmt::format("d {} sd", point.d));
        ++compared;
      }
    }
  }
  EXPECT_EQ(compared, 12U * 8U + 12U);
}

}  // namespace
}  // namespace headtorch::probe
