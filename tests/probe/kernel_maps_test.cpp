#include "src/probe/kernel_maps.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "src/core/error.hpp"

namespace headtorch::probe {
namespace {

using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;

/// Two samples of three tokens, one layer, two heads, weights as given to all.
AttentionMaps maps_of(float weight) {
  AttentionMaps maps;
  maps.ids = {{7, 8, 7}, {8, 8, 9}};
  maps.layers = {{2, 2, 3, 3, std::vector<float>(36, weight)}};
  return maps;
}

HeadReport report(std::int64_t head, const HeadKernel& kernel) {
  HeadReport made;
  made.head = head;
  made.kernel.kernel = kernel;
  return made;
}

TEST(KernelMaps, each_head_gets_its_kernel_on_each_sample) {
  const AttentionMaps fitted =
      kernel_maps(maps_of(0.0F), {report(0, {}), report(1, {.family = KernelFamily::kSameToken})});
  EXPECT_THAT(fitted.layers[0].head(1, 0), Each(testing::FloatNear(1.0F / 3.0F, 1e-6F)));
  EXPECT_THAT(fitted.layers[0].head(0, 1), ElementsAre(0.5F, 0, 0.5F, 0, 1, 0, 0.5F, 0, 0.5F));
  EXPECT_THAT(fitted.layers[0].head(1, 1), ElementsAre(0.5F, 0.5F, 0, 0.5F, 0.5F, 0, 0, 0, 1));
}

TEST(KernelMaps, what_a_mask_hides_stays_zero) {
  AttentionMaps maps = maps_of(0.0F);
  maps.causal = true;
  maps.lengths = {3, 2};
  const AttentionMaps fitted = kernel_maps(maps, {report(0, {})});
  const float third = 1.0F / 3.0F;
  EXPECT_THAT(fitted.layers[0].head(0, 0), ElementsAre(1, 0, 0, 0.5F, 0.5F, 0, third, third, third));
  EXPECT_THAT(fitted.layers[0].head(1, 0).first(6), ElementsAre(1, 0, 0, 0.5F, 0.5F, 0));
  EXPECT_THAT(fitted.layers[0].head(0, 1), Each(0.0F)) << "no report, no weights";
}

TEST(KernelMaps, a_head_that_is_not_there_is_refused) {
  EXPECT_THROW(kernel_maps(maps_of(0.0F), {report(2, {})}), ConfigError);
  EXPECT_THROW(kernel_maps(maps_of(0.0F), {report(-1, {})}), ConfigError);
}

TEST(Strengths, uniform_is_zero_and_one_key_is_the_log_of_their_number) {
  AttentionMaps maps = maps_of(1.0F / 3.0F);
  auto& values = maps.layers[0].values;
  for (std::size_t cell = 18; cell < 27; ++cell)
    values[cell] = cell % 3 == 0 ? 1.0F : 0.0F;  // sample 1, head 0
  EXPECT_THAT(strengths(maps, {0, 0}, {}),
              ElementsAre(DoubleNear(0.0, 1e-6), DoubleNear(std::log(3.0), 1e-6)));
}

TEST(Strengths, rows_count_by_their_importance) {
  AttentionMaps maps = maps_of(1.0F / 3.0F);
  auto& values = maps.layers[0].values;
  values[0] = 1.0F;  // sample 0, head 0, query 0
  values[1] = values[2] = 0.0F;
  EXPECT_NEAR(strengths(maps, {0, 0}, {1, 1, 2})[0], std::log(3.0) / 4.0, 1e-6);
  EXPECT_EQ(strengths(maps, {0, 0}, {0, 0, 0})[0], 0.0);
}

}  // namespace
}  // namespace headtorch::probe
