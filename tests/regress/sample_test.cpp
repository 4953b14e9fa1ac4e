#include "src/regress/sample.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/support/errors.hpp"

namespace headtorch::regress {
namespace {

void make(const std::vector<double>& x, const std::vector<double>& y) { Sample{x, y}; }

TEST(Sample, IsSortedAndKnowsTheGivenOrder) {
  const Sample sample(std::vector{3.0, 1.0, 3.0, 2.0}, std::vector{40.0, 10.0, 30.0, 20.0});
  EXPECT_THAT(sample.x(), ::testing::ElementsAre(1.0, 2.0, 3.0, 3.0));
  EXPECT_EQ(sample.y_mean(), 25.0);
  EXPECT_THAT(sample.y(), ::testing::ElementsAre(-15.0, -5.0, 5.0, 15.0));
  EXPECT_THAT(sample.order(), ::testing::ElementsAre(1u, 3u, 2u, 0u));
}

TEST(Sample, RefusesWhatIsNoSample) {
  EXPECT_TRUE(test::fails([] { make({}, {}); }, ExitCode::kBadData, ::testing::HasSubstr("no points")));
  EXPECT_TRUE(test::fails([] { make({1.0, 2.0}, {1.0}); }, ExitCode::kInternal));
  EXPECT_TRUE(test::fails(
      [] {
        make({1.0, std::nan("")}, {1.0, 2.0});
      },
      ExitCode::kBadData, ::testing::HasSubstr("x[1]")));
  EXPECT_TRUE(test::fails(
      [] {
        make({1.0, 2.0}, {HUGE_VAL, 2.0});
      },
      ExitCode::kBadData, ::testing::HasSubstr("y[0]")));
  EXPECT_TRUE(test::fails(
      [] {
        make({-1.7e308, 1.7e308}, {1.0, 2.0});
      },
      ExitCode::kBadData, ::testing::HasSubstr("range")));
}

}  // namespace
}  // namespace headtorch::regress
