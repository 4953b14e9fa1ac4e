#include "src/probe/saturation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace headtorch::probe {
namespace {

AttentionMaps maps_of(const std::vector<float>& weights) {
  AttentionMaps maps;
  maps.causal = true;
  maps.tokens = {{"a", "b", "c"}};
  maps.ids = {{0, 1, 2}};
  maps.layers.push_back({.samples = 1, .heads = 1, .queries = 3, .keys = 3, .values = weights});
  return maps;
}

TEST(Saturation, rows_that_see_one_key_do_not_count) {
  // Causal: the first row has no choice; of the others one is sharp and one uniform over its three keys.
  const Saturation found = saturation(maps_of({1, 0, 0, 0, 1, 0, 1 / 3.F, 1 / 3.F, 1 / 3.F}));
  EXPECT_DOUBLE_EQ(found.saturated, 0.5);
  EXPECT_NEAR(found.entropy_normalised, 0.5, 1e-6);
}

TEST(Saturation, of_weights_that_are_no_numbers_is_none) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Saturation found = saturation(maps_of({1, 0, 0, nan, nan, 0, 1, 0, 0}));
  EXPECT_TRUE(std::isnan(found.entropy_normalised));
  EXPECT_TRUE(std::isnan(found.saturated));
}

}  // namespace
}  // namespace headtorch::probe
