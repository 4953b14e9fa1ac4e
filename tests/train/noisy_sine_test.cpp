#include "train/noisy_sine.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace headtorch::train {
namespace {

TEST(NoisySine, is_what_Python_draws) {
  std::ifstream file(HEADTORCH_SOURCE_DIR "/tests/golden/noisy_sine.json");
  const auto golden = nlohmann::json::parse(file);
  const NoisySine sine = noisy_sine(42, 80);
  EXPECT_EQ(sine.x, golden["x"].get<std::vector<double>>());
  const auto y = golden["y"].get<std::vector<double>>();
  ASSERT_EQ(sine.y.size(), y.size());
  // The last bit of a sine depends on the processor's instruction set.
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(sine.y[i], y[i], 2.5e-7) << i;
}

TEST(NoisySine, another_seed_gives_other_points) { EXPECT_NE(noisy_sine(42, 80).x, noisy_sine(43, 80).x); }

}  // namespace
}  // namespace headtorch::train
