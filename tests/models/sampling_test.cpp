#include "models/sampling.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/support/errors.hpp"

namespace headtorch::models {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;
using testing::Pointwise;
using Numbers = std::vector<double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
const Numbers kLogits = {2.0, 1.0, 0.5, -1.0};
// From case G31, to the seven digits given there.
const Numbers kAll = {.6094600, .2242078, .1359889, .0303432};
const Numbers kTwo = {.7310586, .2689414, 0.0, 0.0};
const Numbers kCold = {.8420336, .1139569, .0419224, .0020872};

auto near(const Numbers& expected, double tolerance = 1e-7) {
  return Pointwise(DoubleNear(tolerance), expected);
}

TEST(Sampling, G31_values) {
  EXPECT_THAT(probabilities(kLogits, {}), near(kAll));
  EXPECT_THAT(probabilities(kLogits, {.top_k = 2}), near(kTwo));
  for (const std::int64_t k : {4, 100}) EXPECT_THAT(probabilities(kLogits, {.top_k = k}), near(kAll));
  EXPECT_THAT(probabilities(kLogits, {.temperature = 0.5}), near(kCold));
  for (const SamplingOptions& greedy : {SamplingOptions{.top_k = 1}, SamplingOptions{.temperature = 0.0},
                                        SamplingOptions{.temperature = 5e-324}}) {
    EXPECT_EQ(probabilities(kLogits, greedy), (Numbers{1, 0, 0, 0}));
  }
}

TEST(Sampling, G31_options_out_of_range_are_refused_by_name) {
  using test::fails;
  const auto with = [](const SamplingOptions& options) {
    return [options] { probabilities(kLogits, options); };
  };
  for (const double t : {-1.0, -1e-9, kInfinity, kNaN})
    EXPECT_TRUE(fails(with({.temperature = t}), ExitCode::kBadConfig, HasSubstr("temperature")));
  for (const std::int64_t k : {0, -1})
    EXPECT_TRUE(fails(with({.top_k = k}), ExitCode::kBadConfig, HasSubstr("top_k")));
  for (const double p : {0.0, -0.5, 1.5, kNaN})
    EXPECT_TRUE(fails(with({.top_p = p}), ExitCode::kBadConfig, HasSubstr("top_p")));
  for (const Numbers& logits : {Numbers{1, kNaN}, {kInfinity, 0}, {-kInfinity, -kInfinity}, {}})
    EXPECT_TRUE(fails([&] { probabilities(logits, {}); }, ExitCode::kBadData));
}

TEST(Sampling, G31_ten_thousand_samples_follow_the_probabilities) {
  constexpr int kDraws = 10000;
  const std::vector<std::pair<SamplingOptions, Numbers>> cases = {
      {{}, kAll}, {{.top_k = 2}, kTwo}, {{.temperature = 0.5}, kCold}, {{.temperature = 0.0}, {1, 0, 0, 0}}};
  for (const auto& [options, expected] : cases) {
    Numbers counts(kLogits.size(), 0.0);
    const Numbers given = probabilities(kLogits, options);
    for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
      Random random(7, draw);
      counts[static_cast<std::size_t>(sample(given, random))] += 1.0;
    }
    double chi_square = 0.0;
    for (std::size_t token = 0; token < counts.size(); ++token) {
      if (expected[token] == 0.0) {
        EXPECT_EQ(counts[token], 0.0);
      } else {
        const double mean = kDraws * expected[token];
        chi_square += (counts[token] - mean) * (counts[token] - mean) / mean;
      }
    }
    EXPECT_LT(chi_square, 16.27);  // 3 degrees of freedom: exceeded once in a thousand
  }
}

TEST(Sampling, top_p_keeps_the_fewest_that_hold_it) {
  // Sums: .6095, .8337, .9697, 1.
  EXPECT_EQ(probabilities(kLogits, {.top_p = 0.6}), (Numbers{1, 0, 0, 0}));
  EXPECT_THAT(probabilities(kLogits, {.top_p = 0.61}), near(kTwo));
  EXPECT_THAT(probabilities(kLogits, {.top_p = 0.83}), near(kTwo));
  const double three = kAll[0] + kAll[1] + kAll[2];
  EXPECT_THAT(probabilities(kLogits, {.top_p = 0.84}),
              near({kAll[0] / three, kAll[1] / three, kAll[2] / three, 0.0}));
  EXPECT_THAT(probabilities(kLogits, {.top_p = 0.99}), near(kAll));
  EXPECT_EQ(probabilities(kLogits, {.top_p = 1e-300}), (Numbers{1, 0, 0, 0}));
}

TEST(Sampling, cuts_follow_one_another) {
  // Cold: .8420 holds 0.8; at temperature 1 it takes two.
  EXPECT_EQ(probabilities(kLogits, {.temperature = 0.5, .top_p = 0.8}), (Numbers{1, 0, 0, 0}));
  // Of the two left by top_k the first has .7311, which alone holds 0.7; without top_k it has .6095.
  EXPECT_EQ(probabilities(kLogits, {.top_k = 2, .top_p = 0.7}), (Numbers{1, 0, 0, 0}));
}

TEST(Sampling, of_equal_logits_the_lower_tokens_come_first) {
  const Numbers equal(5, 0.25);
  EXPECT_EQ(probabilities(equal, {.temperature = 0.0}), (Numbers{1, 0, 0, 0, 0}));
  EXPECT_EQ(probabilities(equal, {.top_k = 1}), (Numbers{1, 0, 0, 0, 0}));
  EXPECT_EQ(probabilities(equal, {.top_k = 2}), (Numbers{.5, .5, 0, 0, 0}));
  EXPECT_THAT(probabilities(equal, {.top_p = 0.59}), near({1 / 3., 1 / 3., 1 / 3., 0, 0}));
}

TEST(Sampling, order_and_shift_of_logits_mean_nothing) {
  const Numbers p = probabilities({{-1.0, 2.0, 0.5, 1.0}}, {.top_k = 2});
  EXPECT_THAT(p, near({0.0, kTwo[0], 0.0, kTwo[1]}));
  EXPECT_THAT(probabilities({{1002.0, 1001.0, 1000.5, 999.0}}, {}), near(kAll));
}

TEST(Sampling, logits_of_any_size_give_numbers) {
  for (const double t : {5e-324, 1.0, 1e308}) {
    for (const Numbers& logits :
         {Numbers{1e308, -1e308, 0}, {-1e308, -1e308, -1e308}, {-kInfinity, 3, -kInfinity}}) {
      const Numbers p = probabilities(logits, {.temperature = t, .top_k = 2, .top_p = 0.9});
      double sum = 0.0;
      for (const double one : p) sum += one;
      EXPECT_NEAR(sum, 1.0, 1e-12);
    }
  }
}

TEST(Sampling, the_log_probability_is_the_models_own) {
  EXPECT_NEAR(std::exp(log_probability(kLogits, 2)), kAll[2], 1e-7);
  EXPECT_EQ(log_probability({{0.0, -kInfinity}}, 0), 0.0);
}

TEST(Sampling, a_sum_below_one_still_gives_a_token_that_may_be) {
  // Running sums of these end below the largest number that `uniform` gives.
  Numbers almost = {0.5, 0.25, 0.0};
  for (std::uint64_t draw = 0; draw < 100; ++draw) {
    Random random(1, draw);
    EXPECT_LT(sample(almost, random), 2);
  }
}

}  // namespace
}  // namespace headtorch::models
