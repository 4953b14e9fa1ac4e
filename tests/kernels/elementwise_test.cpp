#include <gtest/gtest.h>

#include <algorithm>
#include <numbers>
#include <vector>

#include "tests/kernels/every_set.hpp"
#include "tests/kernels/numbers.hpp"

namespace headtorch::kernels::test {
namespace {

HEADTORCH_KERNEL_TESTS(ActivationOfEverySet);
HEADTORCH_KERNEL_TESTS(ElementwiseOfEverySet);

double phi(double x) { return 0.5 * std::erfc(-x * std::numbers::sqrt2 / 2.0); }
double density(double x) { return std::exp(-0.5 * x * x) / std::sqrt(2.0 * std::numbers::pi); }

/// f(x) and f'(x), and how far they may be off.
struct Expected {
  double y, factor, y_limit = 0.0, factor_limit = 0.0;
};

Expected expected(ActivationKind kind, double x) {
  if (kind == ActivationKind::kRelu) return {std::max(x, 0.0), x > 0.0 ? 1.0 : 0.0};
  const Expected exact = {x * phi(x), phi(x) + x * density(x)};
  // Half of the error function's 1.5e-7 times x, which counts up to about 3.3; near 0 roundings of Phi.
  const double y_limit = std::min(6e-7 * std::abs(x), 2.5e-7 * (1.0 + std::abs(exact.y)));
  return {exact.y, exact.factor, y_limit, 6e-7};
}

/// x behind the call is the factor.
struct Activated {
  Activated(const Kernels& kernels, ActivationKind kind, const Floats& x, DropoutBits dropout)
      : factor(copy_of(x)), y(x.size(), kNaN) {
    kernels.activation_forward(
        {.kind = kind, .count = x.size(), .x = factor.data(), .dropout = dropout, .y = y.data()});
  }
  Floats factor, y;
};

TEST_P(ActivationOfEverySet, gelu_and_its_slope_on_a_grid) {
  const std::int64_t n = 240001;
  Floats x(n);
  for (std::int64_t i = 0; i < n; ++i) x[i] = static_cast<float>(-12.0 + 1e-4 * static_cast<double>(i));
  const Activated out(*kernels, ActivationKind::kGelu, x, {});
  for (std::int64_t i = 0; i < n; ++i) {
    const Expected wanted = expected(ActivationKind::kGelu, static_cast<double>(x[i]));
    ASSERT_NEAR(out.y[i], wanted.y, wanted.y_limit) << x[i];
    ASSERT_NEAR(out.factor[i], wanted.factor, wanted.factor_limit) << x[i];
  }
}

TEST_P(ActivationOfEverySet, every_count_with_and_without_dropout) {
  Random random(31, 0);
  const float scale = 1.25F;
  for (std::int64_t n = 1; n <= 40; ++n) {
    for (const ActivationKind kind : {ActivationKind::kGelu, ActivationKind::kRelu}) {
      for (const bool drops : {false, true}) {
        const Floats x = random_floats(random, n, 4.0);
        const Mask mask(random, n, 0.4);
        const Activated out(*kernels, kind, x, drops ? DropoutBits{mask.bits.data(), scale} : DropoutBits{});
        for (std::int64_t i = 0; i < n; ++i) {
          const double kept = !drops ? 1.0 : mask.kept(i) ? static_cast<double>(scale) : 0.0;
          const Expected wanted = expected(kind, static_cast<double>(x[i]));
          const double y = kept * wanted.y, factor = kept * wanted.factor;
          ASSERT_NEAR(out.y[i], y, kept * wanted.y_limit + allowed(std::abs(y))) << n << ' ' << i;
          ASSERT_NEAR(out.factor[i], factor, kept * wanted.factor_limit + allowed(std::abs(factor)))
              << n << ' ' << i;
        }
      }
    }
  }
}

TEST_P(ActivationOfEverySet, extremes) {
  for (const float large : {20.0F, 1e10F, 1e30F, 3e38F}) {
    Floats x(2);
    x[0] = large;
    x[1] = -large;
    for (const ActivationKind kind : {ActivationKind::kGelu, ActivationKind::kRelu}) {
      const Activated out(*kernels, kind, x, {});
      EXPECT_EQ(out.y[0], large);
      EXPECT_EQ(out.y[1], 0.0F);
      EXPECT_EQ(out.factor[0], 1.0F);
      EXPECT_EQ(out.factor[1], 0.0F);
    }
  }
  for (const float small : {0.0F, 1e-30F, 1e-40F}) {
    Floats x(1, small);
    const Activated out(*kernels, ActivationKind::kGelu, x, {});
    EXPECT_NEAR(out.y[0], 0.5F * small, 1e-7F * small);
    EXPECT_NEAR(out.factor[0], 0.5F, 2e-7F);
  }
}

TEST_P(ActivationOfEverySet, what_is_not_finite_does_not_become_so) {
  for (std::int64_t bad = 0; bad < 40; ++bad) {
    for (const ActivationKind kind : {ActivationKind::kGelu, ActivationKind::kRelu}) {
      Floats x(40, 0.5F);
      x[bad] = kNaN;
      const Activated marked(*kernels, kind, x, {});
      x[bad] = kInfinity;
      const Activated infinite(*kernels, kind, x, {});
      for (std::int64_t i = 0; i < 40; ++i) {
        ASSERT_EQ(std::isnan(marked.y[i]), i == bad);
        ASSERT_EQ(std::isfinite(infinite.y[i]), i != bad);
      }
    }
  }
}

TEST_P(ActivationOfEverySet, backward_multiplies_by_the_factor) {
  Random random(32, 0);
  for (std::int64_t n = 1; n <= 40; ++n) {
    const Floats factor = random_floats(random, n), before = random_floats(random, n);
    Floats gradient = copy_of(before);
    kernels->activation_backward({.count = n, .factor = factor.data(), .gradient = gradient.data()});
    for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(gradient[i], before[i] * factor[i]);
  }
}

TEST_P(ElementwiseOfEverySet, apply_dropout_in_place_and_not) {
  Random random(33, 0);
  const float scale = 1.5F;
  for (std::int64_t n = 1; n <= 40; ++n) {
    const Floats x = random_floats(random, n);
    const Mask mask(random, n, 0.4);
    for (const bool drops : {false, true}) {
      const DropoutBits dropout = drops ? DropoutBits{mask.bits.data(), scale} : DropoutBits{};
      Floats apart(n, kNaN), in_place = copy_of(x);
      kernels->apply_dropout({.count = n, .x = x.data(), .dropout = dropout, .y = apart.data()});
      kernels->apply_dropout({.count = n, .x = in_place.data(), .dropout = dropout, .y = in_place.data()});
      for (std::int64_t i = 0; i < n; ++i) {
        const float expected = !drops ? x[i] : mask.kept(i) ? x[i] * scale : 0.0F;
        ASSERT_EQ(apart[i], expected) << n << ' ' << i;
        ASSERT_EQ(in_place[i], expected) << n << ' ' << i;
      }
    }
  }
}

TEST_P(ElementwiseOfEverySet, what_is_dropped_is_zero_even_if_it_was_not_a_number) {
  Floats x(20, kNaN);
  Guarded<std::uint8_t> bits(3 + 4, 0);
  kernels->apply_dropout({.count = x.size(), .x = x.data(), .dropout = {bits.data(), 2.0F}, .y = x.data()});
  for (const float y : x) EXPECT_EQ(y, 0.0F);
}

TEST_P(ElementwiseOfEverySet, column_sums) {
  Random random(34, 0);
  for (std::int64_t columns = 1; columns <= 40; ++columns) {
    for (const std::int64_t rows :
         {std::int64_t{0}, std::int64_t{1}, between(random, 2, 30), std::int64_t{1000}}) {
      const Floats matrix = random_floats(random, rows * columns), before = random_floats(random, columns);
      Floats sums = copy_of(before);
      kernels->add_column_sums(
          {.rows = rows, .columns = columns, .matrix = matrix.data(), .sums = sums.data()});
      for (std::int64_t j = 0; j < columns; ++j) {
        Sum sum;
        sum.add(static_cast<double>(before[j]));
        for (std::int64_t i = 0; i < rows; ++i) sum.add(static_cast<double>(matrix[i * columns + j]));
        ASSERT_TRUE(close(sums[j], sum)) << rows << " x " << columns << ' ' << j;
      }
    }
  }
}

}  // namespace
}  // namespace headtorch::kernels::test
