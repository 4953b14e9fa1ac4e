#include "src/probe/softmax_limits.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace headtorch::probe {
namespace {

constexpr float kInfinite = std::numeric_limits<float>::infinity();

TEST(NumberFormat, float32_rounds_as_the_processor_does) {
  const NumberFormat format = number_formats()[0];
  for (const double value : {1.0 / 3.0, -1e-40, 1e-46, 3.4028235e38, 3.4028236e38, -1e39, 16777217.0, 0.1})
    EXPECT_EQ(format.rounded(value), static_cast<double>(static_cast<float>(value))) << value;
}

TEST(NumberFormat, float16_has_its_known_ends) {
  const NumberFormat format = number_formats()[2];
  EXPECT_EQ(format.rounded(65519.0), 65504.0);
  EXPECT_EQ(format.rounded(65520.0), static_cast<double>(kInfinite));
  EXPECT_EQ(format.rounded(0x1p-25), 0.0);  // half of the smallest, to even
  EXPECT_EQ(format.rounded(0x1.8p-25), 0x1p-24);
  EXPECT_EQ(format.rounded(2049.0), 2048.0);
}

TEST(SoftmaxLimits, of_float32_are_where_the_processors_exp_ends) {
  const SoftmaxLimits limits = find_softmax_limits(number_formats()[0]);
  const auto largest = static_cast<float>(limits.largest), smallest = static_cast<float>(limits.smallest);
  EXPECT_TRUE(std::isfinite(std::exp(largest)));
  EXPECT_TRUE(std::isinf(std::exp(std::nextafter(largest, kInfinite))));
  EXPECT_GT(std::exp(smallest), 0.0F);
  EXPECT_EQ(std::exp(std::nextafter(smallest, -kInfinite)), 0.0F);
  EXPECT_NEAR(limits.largest, 88.7, 0.05);
}

TEST(SoftmaxLimits, of_float16_are_the_logarithms_of_its_ends) {
  const SoftmaxLimits limits = find_softmax_limits(number_formats()[2]);
  EXPECT_LT(limits.largest, std::log(65520.0));
  EXPECT_GT(limits.next, std::log(65520.0));
  EXPECT_GT(limits.smallest, std::log(0x1p-25));
  EXPECT_NEAR(limits.largest, 11.1, 0.05);
}

TEST(SoftmaxLimits, naive_fails_beyond_them_and_safe_does_not) {
  for (const NumberFormat& format : number_formats()) {
    const SoftmaxLimits limits = find_softmax_limits(format);
    EXPECT_TRUE(std::isnan(limits.naive[0])) << format.name;  // infinite over infinite
    EXPECT_EQ(limits.naive[1], 0.0) << format.name;
    for (const double weight : limits.low_naive) EXPECT_TRUE(std::isnan(weight)) << format.name;  // 0 / 0
    for (const auto& safe : {limits.safe, limits.low_safe})
      EXPECT_NEAR(std::accumulate(safe.begin(), safe.end(), 0.0), 1.0, std::ldexp(4.0, -format.digits));
    EXPECT_NEAR(limits.safe[0], 1.0 / (1.0 + std::exp(-1.0)), std::ldexp(8.0, -format.digits)) << format.name;
  }
}

TEST(SoftmaxLimits, both_agree_where_nothing_overflows) {
  const std::vector<double> scores = {1.0, 0.5, -2.0};
  for (const NumberFormat& format : number_formats()) {
    const auto naive = softmax_in(format, scores, Shift::kNone),
               safe = softmax_in(format, scores, Shift::kRowMaximum);
    for (std::size_t i = 0; i < scores.size(); ++i)
      EXPECT_NEAR(naive[i], safe[i], std::ldexp(2.0, -format.digits)) << format.name;
  }
}

}  // namespace
}  // namespace headtorch::probe
