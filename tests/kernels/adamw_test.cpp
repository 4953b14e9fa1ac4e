#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/kernels/every_set.hpp"
#include "tests/kernels/numbers.hpp"

namespace headtorch::kernels::test {
namespace {

HEADTORCH_KERNEL_TESTS(AdamWOfEverySet);
HEADTORCH_KERNEL_TESTS(SumOfSquaresOfEverySet);

/// Parameters and their moments, as if some steps were done.
struct Parameters {
  Parameters(Random& random, std::int64_t n)
      : values(random_floats(random, n)),
        gradient(random_floats(random, n)),
        mean(random_floats(random, n)),
        square(random_floats(random, n)) {
    for (float& s : square) s *= s;
  }
  AdamWStep step() {
    return {.count = values.size(),
            .values = values.data(),
            .gradient = gradient.data(),
            .mean = mean.data(),
            .square = square.data(),
            .gradient_scale = 0.5F,
            .lr = 0.01,
            .weight_decay = 0.1};
  }
  Floats values, gradient, mean, square;
};

/// Algorithm 2 in double, from the same numbers.
void expect_its_definition(const Kernels& kernels, Parameters& parameters, const AdamWStep& call) {
  const Floats value = copy_of(parameters.values), mean = copy_of(parameters.mean),
               square = copy_of(parameters.square), gradient = copy_of(parameters.gradient);
  kernels.adamw_step(call);
  for (std::int64_t i = 0; i < call.count; ++i) {
    const double g = static_cast<double>(gradient[i]) * static_cast<double>(call.gradient_scale);
    Sum m, s, v;
    m.add(call.beta1 * static_cast<double>(mean[i]));
    m.add((1.0 - call.beta1) * g);
    s.add(call.beta2 * static_cast<double>(square[i]));
    s.add((1.0 - call.beta2) * g * g);
    const double correction1 = 1.0 - std::pow(call.beta1, static_cast<double>(call.step)),
                 correction2 = 1.0 - std::pow(call.beta2, static_cast<double>(call.step));
    const double rate = call.lr / correction1 / (std::sqrt(s.value / correction2) + call.eps);
    v.add(static_cast<double>(value[i]) * (1.0 - call.lr * call.weight_decay));
    v.add(-rate * m.value, rate * m.magnitude);
    ASSERT_TRUE(close(parameters.mean[i], m)) << i;
    ASSERT_TRUE(close(parameters.square[i], s)) << i;
    ASSERT_TRUE(close(parameters.values[i], v)) << i;
    ASSERT_EQ(parameters.gradient[i], gradient[i]);
  }
}

TEST_P(AdamWOfEverySet, one_step_is_its_definition) {
  Random random(61, 0);
  for (std::int64_t n = 1; n <= 40; ++n) {
    for (const std::int64_t step : {1, 2, 1000, 1000000}) {
      for (const double decay : {0.0, 0.1}) {
        SCOPED_TRACE(::testing::Message() << n << " parameters, step " << step << ", decay " << decay);
        Parameters parameters(random, n);
        AdamWStep call = parameters.step();
        call.step = step;
        call.weight_decay = decay;
        call.beta1 = random.below(2) == 0 ? 0.9 : 0.5;
        call.beta2 = random.below(2) == 0 ? 0.999 : 0.95;
        call.eps = random.below(2) == 0 ? 1e-8 : 0.1;
        expect_its_definition(*kernels, parameters, call);
        if (HasFatalFailure()) return;
      }
    }
  }
}

/// float64, gradient 2 theta + (0.5, 0), decay 0.01: the case of tests/train/adamw_test.cpp.
TEST_P(AdamWOfEverySet, follows_the_reference_over_three_steps) {
  const double expected[3][2] = {{0.8990000003999999, -1.89800000025},
                                 {0.7984087988757715, -1.7962725886447977},
                                 {0.6984734747642302, -1.6949445143849766}};
  float values[2] = {1.0F, -2.0F}, gradient[2], mean[2] = {}, square[2] = {};
  for (std::int64_t step = 1; step <= 3; ++step) {
    gradient[0] = 2.0F * values[0] + 0.5F;
    gradient[1] = 2.0F * values[1];
    kernels->adamw_step({.count = 2,
                         .values = values,
                         .gradient = gradient,
                         .mean = mean,
                         .square = square,
                         .lr = 0.1,
                         .weight_decay = 0.01,
                         .step = step});
    EXPECT_NEAR(values[0], expected[step - 1][0], 1e-6);
    EXPECT_NEAR(values[1], expected[step - 1][1], 1e-6);
  }
}

TEST_P(AdamWOfEverySet, a_gradient_of_zero_leaves_decay_alone) {
  Floats values(21, 2.0F), mean(21, 0.0F), square(21, 0.0F);
  const Floats gradient(21, 0.0F);
  kernels->adamw_step({.count = 21,
                       .values = values.data(),
                       .gradient = gradient.data(),
                       .mean = mean.data(),
                       .square = square.data(),
                       .lr = 0.1,
                       .weight_decay = 0.5});
  for (const float v : values) EXPECT_NEAR(v, 1.9F, 1e-6F);
}

TEST_P(AdamWOfEverySet, tiny_and_huge_gradients_move_by_the_rate) {
  for (const float size : {1e-6F, 1.0F, 1e6F, 1e15F}) {
    Floats values(21, 0.0F), mean(21, 0.0F), square(21, 0.0F);
    const Floats gradient(21, size);
    kernels->adamw_step({.count = 21,
                         .values = values.data(),
                         .gradient = gradient.data(),
                         .mean = mean.data(),
                         .square = square.data(),
                         .lr = 0.1});
    const double g = static_cast<double>(size);
    for (const float v : values) EXPECT_NEAR(v, -0.1 * g / (g + 1e-8), 1e-6);
  }
}

TEST_P(SumOfSquaresOfEverySet, is_its_definition) {
  Random random(62, 0);
  std::vector<std::int64_t> counts = {4095, 4096, 4097, 8200, 1000000};
  for (std::int64_t n = 0; n <= 100; ++n) counts.push_back(n);
  for (const std::int64_t n : counts) {
    const Floats values = random_floats(random, n, 3.0);
    Sum expected;
    for (const float v : values) expected.add(static_cast<double>(v) * static_cast<double>(v));
    double sum = -1.0;
    kernels->sum_of_squares({.count = n, .values = values.data(), .sum = &sum});
    ASSERT_TRUE(close(sum, expected)) << n;
  }
}

TEST_P(SumOfSquaresOfEverySet, many_small_numbers_are_not_lost_beside_a_large_one) {
  const std::int64_t n = 2000000;
  Floats values(n, 1e-3F);
  values[0] = 100.0F;
  double sum = 0.0;
  kernels->sum_of_squares({.count = n, .values = values.data(), .sum = &sum});
  EXPECT_NEAR(sum, 1e4 + 2.0, 0.01);
}

TEST_P(SumOfSquaresOfEverySet, what_is_not_finite_stays_so) {
  for (std::int64_t bad = 0; bad < 50; ++bad) {
    for (const float what : {kNaN, kInfinity, -kInfinity}) {
      Floats values(50, 1.0F);
      values[bad] = what;
      double sum = 0.0;
      kernels->sum_of_squares({.count = 50, .values = values.data(), .sum = &sum});
      ASSERT_FALSE(std::isfinite(sum)) << bad;
    }
  }
}

}  // namespace
}  // namespace headtorch::kernels::test
