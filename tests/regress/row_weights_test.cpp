#include "src/regress/row_weights.hpp"

#include <gmock/gmock.h>

#include <cmath>

namespace headtorch::regress {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

TEST(RowWeights, rows_sum_to_one_whatever_the_scores) {
  const std::vector<double> scores = {1e300, -1e300, 0, 800, 799, 801, -1e3, -1e3, -1e3};
  for (const double temperature : {1e-3, 1.0, 1e3}) {
    const std::vector<double> weights = softmax_rows(scores, 3, temperature);
    for (std::size_t first = 0; first < 9; first += 3)
      EXPECT_NEAR(weights[first] + weights[first + 1] + weights[first + 2], 1, 1e-15);
  }
  EXPECT_THAT(softmax_rows(std::vector{0.0, std::log(3.0)}, 2),
              ElementsAre(DoubleNear(0.25, 1e-15), DoubleNear(0.75, 1e-15)));
}

TEST(RowWeights, a_temperature_divides_the_scores) {
  EXPECT_THAT(softmax_rows(std::vector{0.0, 2 * std::log(3.0)}, 2, 2.0),
              ElementsAre(DoubleNear(0.25, 1e-15), DoubleNear(0.75, 1e-15)));
}

TEST(RowWeights, even_weights_use_all_points_and_one_weight_uses_one) {
  const Sharpness even = sharpness(std::vector<double>(10, 0.1), 10);
  EXPECT_NEAR(even.entropy, std::log(10.0), 1e-14);
  EXPECT_NEAR(even.effective_n, 10, 1e-13);
  const Sharpness both = sharpness(std::vector{1.0, 0.0, 0.5, 0.5}, 2);
  EXPECT_NEAR(both.entropy, std::log(2.0) / 2, 1e-15);
  EXPECT_NEAR(both.effective_n, 1.5, 1e-15);
}

TEST(RowWeights, means_are_by_row) {
  EXPECT_THAT(weighted_means(std::vector{1.0, 0.0, 0.25, 0.75}, std::vector{4.0, 8.0}), ElementsAre(4, 7));
}

}  // namespace
}  // namespace headtorch::regress
