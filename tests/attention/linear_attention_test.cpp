#include "src/attention/linear_attention.hpp"

#include <gmock/gmock.h>

#include "src/attention/attend.hpp"
#include "src/attention/scores.hpp"
#include "src/core/error.hpp"
#include "tests/support/attention_inputs.hpp"

namespace headtorch::attention {
namespace {

using test::close;
using test::identical;
using test::Inputs;
using test::inputs;
using test::normal;
using torch::Tensor;

std::vector<test::Sizes> with_long_ones() {
  std::vector<test::Sizes> sizes = test::kSizes;
  sizes.insert(sizes.end(),
               {{2, 2, 130, 130, 5, 3}, {1, 2, 64, 64, 4, 4}, {1, 1, 70, 200, 3, 2}, {1, 1, 200, 70, 3, 2}});
  return sizes;
}

TEST(LinearAttention, is_the_explicit_path_with_gradients_for_every_size_and_mask) {
  std::size_t tried = 0;
  for (const test::Sizes& s : with_long_ones()) {
    const Inputs in = inputs(s);
    const Tensor scale = torch::linspace(0.5, 2.0, s.heads, torch::kFloat64);
    const Tensor grad_y = normal({s.batch, s.heads, s.queries, s.values}, 4);
    for (const auto& [name, mask] : test::masks(s)) {
      if (!linear_applies(mask)) continue;
      ++tried;
      SCOPED_TRACE(testing::Message() << name << ", T " << s.queries << ", S " << s.keys);
      const auto want = test::differentiate(
          in,
          [&, &mask = mask](const Inputs& x) {
            return attend_explicit(linear_scores(x.q, x.k, scale), x.v,
                                   resolve(mask, s.queries, s.keys, torch::kCPU))
                .y;
          },
          grad_y);
      const auto got = test::differentiate(
          in, [&, &mask = mask](const Inputs& x) { return attend_linear(x.q, x.k, x.v, mask, scale); },
          grad_y);
      EXPECT_TRUE(close(got.y, want.y));
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_TRUE(close(got.gradients[i], want.gradients[i])) << "of q, k, v: " << i;
      }
    }
  }
  EXPECT_GE(tried, 4 * with_long_ones().size());
}

TEST(LinearAttention, the_gradient_of_its_scale_is_the_numeric_one) {
  const Inputs in = inputs({2, 2, 5, 5, 3, 2});
  const Tensor grad_y = normal({2, 2, 5, 2}, 4), scale = test::doubles({0.5, 1.5}, {2});
  for (const Visibility visibility : {Visibility::kAll, Visibility::kCausal}) {
    const auto f = [&](const Tensor& s) {
      return (attend_linear(in.q, in.k, in.v, {visibility, {}}, s) * grad_y).sum();
    };
    EXPECT_TRUE(close(test::analytic_gradient(f, scale), test::numeric_gradient(f, scale),
                      test::kNumericGradientTolerance));
  }
}

TEST(LinearAttention, nothing_looks_at_the_future) {
  const Inputs in = inputs({1, 2, 150, 150, 4, 3});
  Inputs other{in.q, in.k.clone(), in.v.clone()};
  other.k.narrow(2, 100, 50).mul_(-7.0);
  other.v.narrow(2, 100, 50).add_(100.0);
  const Tensor scale = torch::ones({2}, torch::kFloat64);
  const auto of = [&](const Inputs& x) {
    return attend_linear(x.q, x.k, x.v, {Visibility::kCausal, {}}, scale);
  };
  EXPECT_TRUE(identical(of(other).narrow(2, 0, 100), of(in).narrow(2, 0, 100)));
  EXPECT_FALSE(torch::equal(of(other), of(in)));
}

TEST(LinearAttention, rows_that_see_nothing_are_zero_with_finite_gradients) {
  const Inputs in = inputs({2, 1, 4, 4, 3, 2});
  Tensor visible = torch::ones({2, 1, 1, 4}, torch::kBool);
  visible[0].fill_(false);
  visible[1][0][0][0] = false;  // so that the first causal row sees nothing
  const Tensor scale = torch::ones({1}, torch::kFloat64);
  for (const Visibility visibility : {Visibility::kAll, Visibility::kCausal}) {
    const auto got = test::differentiate(
        in,
        [&](const Inputs& x) {
          return attend_linear(x.q, x.k, x.v, {visibility, visible}, scale);
        },
        normal({2, 1, 4, 2}, 4));
    EXPECT_TRUE((got.y[0] == 0).all().item<bool>());
    EXPECT_EQ((got.y[1][0][0] == 0).all().item<bool>(), visibility == Visibility::kCausal);
    for (const Tensor& gradient : got.gradients) EXPECT_TRUE(test::all_finite(gradient));
  }
}

TEST(LinearAttention, features_that_vanish_leave_it_finite_and_equal_to_the_explicit_path) {
  for (const torch::Dtype dtype : {torch::kFloat32, torch::kFloat64}) {
    const Inputs wide = inputs({1, 2, 20, 20, 3, 2});
    const Inputs in{(wide.q * 300).to(dtype), (wide.k * 300).to(dtype), wide.v.to(dtype)};
    const Tensor scale = torch::ones({2}, dtype), grad_y = normal({1, 2, 20, 2}, 4).to(dtype);
    for (const Visibility visibility : {Visibility::kAll, Visibility::kCausal}) {
      const auto got = test::differentiate(
          in,
          [&](const Inputs& x) {
            return attend_linear(x.q, x.k, x.v, {visibility, {}}, scale);
          },
          grad_y);
      const Tensor want = attend_explicit(linear_scores(in.q, in.k, scale), in.v,
                                          resolve({visibility, {}}, 20, 20, torch::kCPU))
                              .y;
      EXPECT_TRUE(close(got.y, want));
      for (const Tensor& gradient : got.gradients) EXPECT_TRUE(test::all_finite(gradient));
    }
  }
}

TEST(LinearAttention, half_precision_is_summed_in_float32) {
  const Inputs in = inputs({1, 2, 300, 300, 8, 4});
  const Tensor scale = torch::ones({2}, torch::kFloat64);
  for (const torch::Dtype dtype : {torch::kBFloat16, torch::kFloat16}) {
    const Tensor q = in.q.to(dtype), k = in.k.to(dtype), v = in.v.to(dtype);
    const Tensor got = attend_linear(q, k, v, {Visibility::kCausal, {}}, scale.to(dtype));
    EXPECT_EQ(got.scalar_type(), dtype);
    const Tensor exact = attend_linear(q.to(torch::kFloat64), k.to(torch::kFloat64), v.to(torch::kFloat64),
                                       {Visibility::kCausal, {}}, scale);
    EXPECT_TRUE(
        close(got.to(torch::kFloat64), exact, dtype == torch::kBFloat16 ? 4e-3 : 5e-4));  // rounding of y
  }
}

TEST(LinearAttention, masks_that_differ_between_queries_are_refused) {
  EXPECT_TRUE(linear_applies({}));
  EXPECT_TRUE(linear_applies({Visibility::kCausal, torch::ones({2, 1, 1, 4}, torch::kBool)}));
  EXPECT_FALSE(linear_applies({Visibility::kAll, {}, 3}));
  EXPECT_FALSE(linear_applies({Visibility::kAll, torch::ones({4, 4}, torch::kBool)}));
  const Inputs in = inputs({2, 2, 4, 4, 3, 2});
  const Tensor scale = torch::ones({2}, torch::kFloat64);
  EXPECT_THROW(attend_linear(in.q, in.k, in.v, {Visibility::kAll, {}, 3}, scale), ConfigError);
  EXPECT_THROW(attend_linear(in.q, in.k, in.v, {Visibility::kAll, torch::ones({1, 5}, torch::kBool)}, scale),
               ShapeError);
  EXPECT_THROW(attend_linear(in.q, in.k, in.v.narrow(2, 0, 3), {}, scale), ShapeError);
  EXPECT_THROW(attend_linear(in.q, in.k, in.v, {}, torch::ones({3}, torch::kFloat64)), ShapeError);
}

}  // namespace
}  // namespace headtorch::attention
