#include "src/attention/attend.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "src/attention/scores.hpp"
#include "src/attention/softmax.hpp"
#include "src/core/error.hpp"
#include "tests/support/attention_inputs.hpp"
#include "tests/support/tensors.hpp"

namespace headtorch::attention {
namespace {

using test::close;
using test::differentiate;
using test::doubles;
using test::identical;
using test::Inputs;
using test::inputs;
using test::kSizes;
using test::masks;
using test::NamedMask;
using test::normal;
using test::Sizes;
using test::WithGradients;
using torch::Tensor;

Attended explicit_path(const Inputs& in, const Mask& mask, double scale = 0.5) {
  return attend_explicit(scaled_dot_scores(in.q, in.k, scale), in.v,
                         resolve(mask, in.q.size(2), in.k.size(2), torch::kCPU));
}

// ---- softmax

TEST(MaskedSoftmax, rows_sum_to_one_or_see_nothing_and_are_zero) {
  for (const Sizes& s : kSizes) {
    for (const auto& [name, mask] : masks(s)) {
      SCOPED_TRACE(name);
      const Tensor visible = resolve(mask, s.queries, s.keys, torch::kCPU);
      const Tensor scores = normal({s.batch, s.heads, s.queries, s.keys}, 5) * 10;
      const Tensor weights = masked_softmax(scores, visible);
      EXPECT_TRUE((weights >= 0).all().item<bool>());
      if (!visible.defined()) {
        EXPECT_TRUE(close(weights.sum(-1), torch::ones({s.batch, s.heads, s.queries}, torch::kFloat64)));
        continue;
      }
      const Tensor shown = visible.expand_as(weights);
      EXPECT_TRUE(close(weights.sum(-1), shown.any(-1).to(torch::kFloat64)));
      EXPECT_TRUE((weights.masked_select(~shown) == 0).all().item<bool>());
    }
  }
}

TEST(MaskedSoftmax, extreme_scores_have_their_reference_values) {
  const auto g = test::golden("attention.json")["softmax_extremes"];
  EXPECT_TRUE(close(masked_softmax(test::tensor(g["x"]), {}), test::tensor(g["softmax"])));
  const Tensor row = test::tensor(g["x"])[0];
  for (std::int64_t i = 0; i < 3; ++i) {
    const Tensor gradient =
        test::analytic_gradient([&](const Tensor& x) { return masked_softmax(x, {})[i]; }, row);
    EXPECT_TRUE(close(gradient, test::tensor(g["jacobian_of_row_0"])[i]));
  }
}

TEST(MaskedSoftmax, the_largest_finite_scores_are_safe) {
  const float top = std::numeric_limits<float>::max();
  const Tensor scores = torch::tensor({{top, top, -top}, {-top, -top, top}, {-top, -top, -top}});
  EXPECT_TRUE(close(masked_softmax(scores, {}),
                    torch::tensor({{0.5F, 0.5F, 0.0F}, {0.0F, 0.0F, 1.0F}, {1 / 3.0F, 1 / 3.0F, 1 / 3.0F}})));
  const Tensor visible = torch::tensor({{true, false, true}, {true, true, false}, {false, false, false}});
  EXPECT_TRUE(close(masked_softmax(scores, visible),
                    torch::tensor({{1.0F, 0.0F, 0.0F}, {0.5F, 0.5F, 0.0F}, {0.0F, 0.0F, 0.0F}})));
}

TEST(MaskedSoftmax, a_hidden_score_cannot_win_whatever_it_is) {
  const Tensor visible = torch::tensor({true, false, true});
  const Tensor usual = masked_softmax(doubles({-1e9, 0, -1e9 + 1}, {1, 3}), visible);
  for (const double hidden : {1e300, -1e300, HUGE_VAL, -HUGE_VAL, std::nan("")}) {
    const Tensor weights = masked_softmax(doubles({-1e9, hidden, -1e9 + 1}, {1, 3}), visible);
    EXPECT_TRUE(identical(weights, usual)) << hidden;
    EXPECT_EQ(weights[0][1].item<double>(), 0.0);
  }
}

TEST(MaskedSoftmax, the_gradient_is_the_numeric_one_for_each_mask) {
  const Sizes s{2, 2, 4, 5, 3, 3};
  const Tensor scores = normal({2, 2, 4, 5}, 8), grad_out = normal({2, 2, 4, 5}, 9);
  for (const auto& [name, mask] : masks(s)) {
    SCOPED_TRACE(name);
    const Tensor visible = resolve(mask, s.queries, s.keys, torch::kCPU);
    const auto f = [&](const Tensor& x) { return (masked_softmax(x, visible) * grad_out).sum(); };
    EXPECT_TRUE(close(test::analytic_gradient(f, scores), test::numeric_gradient(f, scores),
                      test::kNumericGradientTolerance));
  }
}

// ---- masks

TEST(Masks, G02_causal_is_aligned_to_the_last_key) {
  EXPECT_TRUE(identical(causal_mask(2, 5),
                        torch::tensor({{true, true, true, true, false}, {true, true, true, true, true}})));
  EXPECT_TRUE(causal_mask(1, 7).all().item<bool>());
  // More queries than keys: the first rows see nothing.
  EXPECT_TRUE(identical(causal_mask(3, 2), torch::tensor({{false, false}, {true, false}, {true, true}})));

  const Inputs in{torch::zeros({1, 1, 2, 1}, torch::kFloat64), torch::zeros({1, 1, 5, 1}, torch::kFloat64),
                  doubles({1, 2, 3, 4, 5}, {1, 1, 5, 1})};
  const Mask causal{Visibility::kCausal, {}};
  const Attended a = explicit_path(in, causal);
  EXPECT_TRUE(close(a.pattern[0][0], doubles({.25, .25, .25, .25, 0, .2, .2, .2, .2, .2}, {2, 5})));
  EXPECT_TRUE(close(a.y.flatten(), doubles({2.5, 3.0}, {2})));
  EXPECT_TRUE(close(attend_fused(in.q, in.k, in.v, causal, 1.0).flatten(), doubles({2.5, 3.0}, {2})));
}

TEST(Masks, padding_hides_keys_past_each_length) {
  const Tensor mask = padding_mask(torch::tensor({3, 0, 1}), 3);
  EXPECT_THAT(mask.sizes(), testing::ElementsAre(3, 1, 1, 3));
  EXPECT_TRUE(identical(mask.view({3, 3}),
                        torch::tensor({{true, true, true}, {false, false, false}, {true, false, false}})));
}

TEST(Masks, combine_lets_undefined_stand_for_every_key) {
  const Tensor a = torch::tensor({true, true, false}), b = torch::tensor({false, true, true});
  EXPECT_TRUE(identical(combine(a, b), torch::tensor({false, true, false})));
  EXPECT_TRUE(identical(combine(a, {}), a));
  EXPECT_TRUE(identical(combine({}, b), b));
  EXPECT_FALSE(combine({}, {}).defined());
  EXPECT_FALSE(resolve({}, 3, 3, torch::kCPU).defined());
}

TEST(Masks, a_mask_that_is_not_bool_or_does_not_fit_is_refused) {
  for (const Tensor& wrong :
       {torch::ones({4, 4}), torch::ones({4, 3}, torch::kBool), torch::ones({3, 4}, torch::kBool),
        torch::ones({1, 1, 1, 4, 4}, torch::kBool), torch::zeros({4, 4}, torch::kLong)}) {
    EXPECT_THROW(resolve({Visibility::kAll, wrong}, 4, 4, torch::kCPU), ShapeError) << wrong.sizes();
    EXPECT_THROW(resolve({Visibility::kCausal, wrong}, 4, 4, torch::kCPU), ShapeError) << wrong.sizes();
  }
}

// ---- both paths

TEST(Attend, reference_values_and_gradients) {
  const auto g = test::golden("attention.json")["sdpa"];
  const Inputs in{test::tensor(g["q"]), test::tensor(g["k"]), test::tensor(g["v"])};
  const Tensor grad_y = test::tensor(g["grad_out"]);
  const Tensor padding = padding_mask(torch::tensor(g["lengths"].get<std::vector<std::int64_t>>()), 6);
  EXPECT_TRUE(identical(padding, test::tensor(g["padding_mask"], torch::kBool)));
  EXPECT_TRUE(identical(causal_mask(6, 6), test::tensor(g["causal_mask"], torch::kBool)));
  const auto& variants = g["variants"];
  const std::vector<NamedMask> cases = {
      {"none", {}},
      {"causal", {Visibility::kCausal, {}}},
      {"padding", {Visibility::kAll, padding}},
      {"causal_padding", {Visibility::kCausal, padding}},
      {"one_empty_row", {Visibility::kAll, test::tensor(variants["one_empty_row"]["mask"], torch::kBool)}}};
  for (const auto& named : cases) {
    SCOPED_TRACE(named.name);
    const auto& want = variants[named.name];
    const Attended a = explicit_path(in, named.mask);
    if (want.contains("weights")) {
      EXPECT_TRUE(close(a.pattern, test::tensor(want["weights"])));
    }
    const auto explicit_y = [&](const Inputs& x) { return explicit_path(x, named.mask).y; };
    const auto fused_y = [&](const Inputs& x) { return attend_fused(x.q, x.k, x.v, named.mask, 0.5); };
    for (const auto& path :
         {std::function<Tensor(const Inputs&)>(explicit_y), std::function<Tensor(const Inputs&)>(fused_y)}) {
      const WithGradients got = differentiate(in, path, grad_y);
      EXPECT_TRUE(close(got.y, test::tensor(want["out"])));
      EXPECT_TRUE(close(got.gradients[0], test::tensor(want["grad_q"])));
      EXPECT_TRUE(close(got.gradients[1], test::tensor(want["grad_k"])));
      EXPECT_TRUE(close(got.gradients[2], test::tensor(want["grad_v"])));
    }
  }
  EXPECT_TRUE(close(explicit_path(in, {}, 1.0).y, test::tensor(variants["unscaled"]["out"])));
  const auto& cross = variants["cross_3_queries_padding"];
  const Attended a = explicit_path({test::tensor(cross["q"]), in.k, in.v}, {Visibility::kAll, padding});
  EXPECT_TRUE(close(a.pattern, test::tensor(cross["weights"])));
  EXPECT_TRUE(close(a.y, test::tensor(cross["out"])));
}

TEST(Attend, fused_equals_explicit_with_gradients_for_every_size_and_mask) {
  for (const Sizes& s : kSizes) {
    const Inputs in = inputs(s);
    const Tensor grad_y = normal({s.batch, s.heads, s.queries, s.values}, 4);
    for (const auto& named : masks(s)) {
      SCOPED_TRACE(testing::Message() << named.name << ", T " << s.queries << ", S " << s.keys);
      const WithGradients a = differentiate(
          in, [&](const Inputs& x) { return explicit_path(x, named.mask, 0.7).y; }, grad_y);
      const WithGradients b = differentiate(
          in, [&](const Inputs& x) { return attend_fused(x.q, x.k, x.v, named.mask, 0.7); }, grad_y);
      EXPECT_TRUE(close(b.y, a.y));
      for (std::size_t i = 0; i < 3; ++i)
        EXPECT_TRUE(close(b.gradients[i], a.gradients[i])) << "of q, k, v: " << i;
    }
  }
}

TEST(Attend, fused_equals_explicit_in_float32) {
  const Sizes s{2, 4, 32, 32, 16, 16};
  const Inputs d = inputs(s);
  const Inputs in{d.q.to(torch::kFloat32), d.k.to(torch::kFloat32), d.v.to(torch::kFloat32)};
  for (const auto& named : masks(s)) {
    EXPECT_TRUE(
        close(attend_fused(in.q, in.k, in.v, named.mask, 0.25), explicit_path(in, named.mask, 0.25).y))
        << named.name;
  }
}

TEST(Attend, a_fused_kernel_is_taken_where_it_is_claimed) {
  const Sizes s{2, 4, 32, 32, 16, 16};
  const Inputs d = inputs(s);
  const Inputs in{d.q.to(torch::kFloat32), d.k.to(torch::kFloat32), d.v.to(torch::kFloat32)};
  EXPECT_TRUE(fused_kernel_applies(in.q, in.k, in.v, {}, 0.25));
  EXPECT_TRUE(fused_kernel_applies(in.q, in.k, in.v, {Visibility::kCausal, {}}, 0.25));
  EXPECT_TRUE(fused_kernel_applies(in.q, in.k, in.v,
                                   {Visibility::kAll, padding_mask(torch::tensor({32, 7}), 32)}, 0.25));
}

TEST(Attend, G01_a_row_with_nothing_to_see_is_zero_with_finite_gradients) {
  const Tensor x = doubles({1, 2, 3, 4}, {1, 1, 4, 1});
  const Tensor position = torch::arange(4);
  const Tensor i = position.view({4, 1}), j = position.view({1, 4});
  const Tensor window_and_padding = (j <= i) & (j >= i - 1) & (j < 2);
  const Mask mask{Visibility::kAll, window_and_padding};
  const Inputs in{x, x, x};
  const Attended a = explicit_path(in, mask, 1.0);
  EXPECT_TRUE(close(a.pattern[0][0],
                    doubles({1, 0, 0, 0, .1192029, .8807971, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}, {4, 4}), 1e-7));
  const Tensor head = doubles({1, 1.8807971, 2, 0}, {4});
  EXPECT_TRUE(close(a.y.flatten(), head, 1e-7));  // the case gives seven digits
  EXPECT_TRUE(close(attend_fused(x, x, x, mask, 1.0).flatten(), head, 1e-7));
  for (const bool fused : {false, true}) {
    const auto path = [&](const Inputs& t) {
      return fused ? attend_fused(t.q, t.k, t.v, mask, 1.0) : explicit_path(t, mask, 1.0).y;
    };
    const WithGradients got = differentiate(in, path, torch::ones_like(x));
    for (const Tensor& gradient : got.gradients) EXPECT_TRUE(test::all_finite(gradient));
    EXPECT_EQ(got.gradients[0][0][0][3].item<double>(), 0.0);
  }
}

TEST(Attend, G03_dropout_never_reaches_the_returned_weights) {
  const Sizes s{2, 2, 5, 5, 4, 4};
  const Inputs in = inputs(s);
  const Tensor scores = scaled_dot_scores(in.q, in.k, 0.5);
  const Tensor keep = (torch::arange(25).view({5, 5}) % 3 != 0).to(torch::kFloat64) / 0.8;
  const Attended plain = attend_explicit(scores, in.v, {});
  const Attended dropped = attend_explicit(scores, in.v, {}, [&](const Tensor& w) { return w * keep; });
  EXPECT_TRUE(identical(dropped.pattern, plain.pattern));
  EXPECT_TRUE(close(dropped.y, torch::matmul(plain.pattern * keep, in.v)));
  const Tensor one = torch::ones({1, 1, 1, 1}, torch::kFloat64);
  EXPECT_EQ(attend_explicit(one, one, {}, [](const Tensor& w) { return w / 0.8; }).pattern.item<double>(),
            1.0);
}

TEST(Attend, G04_causal_weights_of_equal_scores) {
  const Tensor zero = torch::zeros({1, 1, 3, 2}, torch::kFloat64);
  const Attended a = explicit_path({zero, zero, zero}, {Visibility::kCausal, {}});
  EXPECT_TRUE(close(a.pattern[0][0], doubles({1, 0, 0, .5, .5, 0, 1 / 3., 1 / 3., 1 / 3.}, {3, 3})));
}

TEST(Attend, G04_nothing_looks_at_the_future) {
  const Sizes s{2, 2, 6, 6, 4, 3};
  const Inputs in = inputs(s);
  Inputs other{in.q, in.k.clone(), in.v.clone()};
  other.k.narrow(2, 4, 2).mul_(-7.0);
  other.v.narrow(2, 4, 2).add_(100.0);
  const Tensor padding = padding_mask(torch::tensor({6, 3}), 6);
  for (const Mask& mask : {Mask{Visibility::kCausal, {}}, Mask{Visibility::kCausal, padding}}) {
    const auto explicit_y = [&](const Inputs& x) { return explicit_path(x, mask).y; };
    const auto fused_y = [&](const Inputs& x) { return attend_fused(x.q, x.k, x.v, mask, 0.5); };
    for (const auto& path :
         {std::function<Tensor(const Inputs&)>(explicit_y), std::function<Tensor(const Inputs&)>(fused_y)}) {
      EXPECT_TRUE(identical(path(other).narrow(2, 0, 4), path(in).narrow(2, 0, 4)));
      EXPECT_FALSE(torch::equal(path(other)[0], path(in)[0]));
      Tensor early = torch::zeros_like(in.v);
      early.narrow(2, 0, 4).fill_(1.0);
      const WithGradients got = differentiate(in, path, early);
      EXPECT_TRUE((got.gradients[1].narrow(2, 4, 2) == 0).all().item<bool>());
      EXPECT_TRUE((got.gradients[2].narrow(2, 4, 2) == 0).all().item<bool>());
    }
  }
}

TEST(Attend, padding_changes_nothing) {
  const Sizes s{2, 2, 6, 6, 4, 3};
  const Inputs in = inputs(s);
  const Inputs cut{in.q.narrow(2, 0, 4), in.k.narrow(2, 0, 4), in.v.narrow(2, 0, 4)};
  for (const Visibility visibility : {Visibility::kAll, Visibility::kCausal}) {
    const Mask padded{visibility, padding_mask(torch::tensor({4, 4}), 6)};
    const Attended a = explicit_path(in, padded), b = explicit_path(cut, {visibility, {}});
    EXPECT_TRUE(close(a.y.narrow(2, 0, 4), b.y));
    EXPECT_TRUE(close(a.pattern.narrow(2, 0, 4).narrow(3, 0, 4), b.pattern));
    EXPECT_TRUE(close(attend_fused(in.q, in.k, in.v, padded, 0.5).narrow(2, 0, 4), b.y));
  }
}

TEST(Attend, keys_may_come_in_any_order) {
  const Inputs in = inputs({2, 2, 6, 6, 4, 3});
  const Tensor order = torch::tensor({3, 0, 5, 1, 4, 2});
  const Inputs mixed{in.q, in.k.index_select(2, order), in.v.index_select(2, order)};
  EXPECT_TRUE(close(explicit_path(mixed, {}).y, explicit_path(in, {}).y));
  EXPECT_TRUE(close(explicit_path(mixed, {}).pattern, explicit_path(in, {}).pattern.index_select(3, order)));
}

TEST(Attend, rows_are_queries_and_columns_are_keys) {
  // Query 0 asks for what key 2 holds, query 1 for what key 0 holds: one row each, three columns.
  const Tensor q = doubles({0, 0, 90, 90, 0, 0}, {1, 1, 2, 3}),
               k = torch::eye(3, torch::kFloat64).view({1, 1, 3, 3});
  const Attended a = explicit_path({q, k, doubles({10, 20, 30}, {1, 1, 3, 1})}, {}, 1.0);
  EXPECT_THAT(a.pattern.sizes(), testing::ElementsAre(1, 1, 2, 3));
  EXPECT_TRUE(identical(a.pattern.argmax(-1).flatten(), torch::tensor({2, 0})));
  EXPECT_TRUE(close(a.y.flatten(), doubles({30, 10}, {2})));
}

TEST(Attend, G09_heads_stay_apart) {
  const Tensor eye = torch::eye(4, torch::kFloat64);
  std::vector<Tensor> shifted;
  for (std::int64_t h = 0; h < 4; ++h) shifted.push_back(torch::roll(eye, h, 1));
  const Tensor pattern = attend_explicit(torch::stack(shifted).unsqueeze(0) * 1e4,
                                         torch::zeros({1, 4, 4, 1}, torch::kFloat64), {})
                             .pattern;
  EXPECT_THAT(pattern.sizes(), testing::ElementsAre(1, 4, 4, 4));
  EXPECT_TRUE(identical(pattern[0], torch::stack(shifted)));
  EXPECT_TRUE(close(pattern.mean(1), torch::full({1, 4, 4}, 0.25, torch::kFloat64)));
}

TEST(Attend, shapes_that_do_not_fit_are_refused) {
  const Inputs in = inputs({2, 2, 6, 5, 4, 3});
  EXPECT_THROW(explicit_path({in.q, in.k, in.v.narrow(2, 0, 4)}, {}), ShapeError);
  EXPECT_THROW(scaled_dot_scores(in.q, in.k.narrow(3, 0, 3), 1.0), ShapeError);
  EXPECT_THROW(scaled_dot_scores(in.q, in.k.narrow(1, 0, 1), 1.0), ShapeError);
  EXPECT_THROW(scaled_dot_scores(in.q[0], in.k[0], 1.0), ShapeError);
  EXPECT_THROW(scaled_dot_scores(in.q, in.k, torch::ones({3}, torch::kFloat64)), ShapeError);
  EXPECT_THROW(attend_fused(in.q, in.k.narrow(0, 0, 1), in.v, {}, 1.0), ShapeError);
  EXPECT_THROW(attend_fused(in.q, in.k, in.v.narrow(2, 0, 4), {}, 1.0), ShapeError);
  EXPECT_THROW(attend_fused(in.q, in.k, in.v, {Visibility::kAll, torch::ones({6, 4}, torch::kBool)}, 1.0),
               ShapeError);
}

}  // namespace
}  // namespace headtorch::attention
