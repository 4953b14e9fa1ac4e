#include "src/probe/temperature_study.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace headtorch::probe {
namespace {

TemperatureStudy study() { return study_temperature({.d = 16, .n = 8, .samples = 200, .seed = 4}); }

TEST(TemperatureStudy, hot_weights_are_uniform) {
  const TemperatureStudy hot =
      study_temperature({.d = 16, .n = 8, .temperatures = {1e8}, .samples = 50, .seed = 4});
  EXPECT_NEAR(hot.points[0].softmax_entropy.mean, std::log(8.0), 1e-6);
  EXPECT_NEAR(hot.points[0].linear_entropy.mean, std::log(8.0), 1e-6);
}

TEST(TemperatureStudy, a_cold_softmax_picks_one_key_and_cold_linear_weights_reach_their_limit) {
  const TemperatureStudy cold =
      study_temperature({.d = 16, .n = 8, .temperatures = {1e-8}, .samples = 50, .seed = 4});
  EXPECT_NEAR(cold.points[0].softmax_entropy.mean, 0.0, 1e-6);
  EXPECT_NEAR(cold.points[0].linear_entropy.mean, cold.linear_limit.mean, 1e-3);
  EXPECT_GT(cold.linear_limit.mean, 0.8 * std::log(8.0));
}

TEST(TemperatureStudy, entropy_grows_with_temperature) {
  const TemperatureStudy all = study();
  for (std::size_t i = 1; i < all.points.size(); ++i) {
    EXPECT_GE(all.points[i].softmax_entropy.mean, all.points[i - 1].softmax_entropy.mean);
    EXPECT_GE(all.points[i].linear_entropy.mean, all.points[i - 1].linear_entropy.mean);
  }
}

TEST(TemperatureStudy, at_one_the_softmax_is_the_scaled_one) {
  const ScalePoint scaled = study_scale({.widths = {16}, .keys = {8}, .samples = 2000, .seed = 9}).front();
  const TemperatureStudy one =
      study_temperature({.d = 16, .n = 8, .temperatures = {1.0}, .samples = 2000, .seed = 10});
  EXPECT_NEAR(one.points[0].softmax_entropy.mean, scaled.scaled.entropy.mean,
              4.0 * std::hypot(one.points[0].softmax_entropy.se, scaled.scaled.entropy.se));
}

}  // namespace
}  // namespace headtorch::probe
