#include "src/attention/scores.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "src/attention/attend.hpp"
#include "src/attention/fixed_kernels.hpp"
#include "src/attention/relative.hpp"
#include "src/attention/softmax.hpp"
#include "src/core/error.hpp"
#include "tests/support/attention_inputs.hpp"

namespace headtorch::attention {
namespace {

using test::close;
using test::doubles;
using test::identical;
using test::Inputs;
using test::inputs;
using test::normal;
using torch::Tensor;

TEST(Scores, G07_the_root_of_the_features_a_head) {
  const Tensor q = torch::ones({1, 2, 1, 4}, torch::kFloat64);
  const Tensor k =
      torch::stack({torch::ones({4}), torch::zeros({4})}).to(torch::kFloat64).expand({1, 2, 2, 4});
  const Tensor weights = masked_softmax(scaled_dot_scores(q, k, 1.0 / std::sqrt(4.0)), {});
  EXPECT_TRUE(close(weights[0][1][0], doubles({.8807971, .1192029}, {2}), 1e-7));
}

TEST(Scores, a_factor_for_each_head_scales_that_head) {
  const Inputs in = inputs({2, 3, 4, 4, 5, 5});
  const Tensor by_head = scaled_dot_scores(in.q, in.k, doubles({0.5, 2.0, -1.0}, {3}));
  for (const auto& [head, factor] : {std::pair{0, 0.5}, {1, 2.0}, {2, -1.0}}) {
    EXPECT_TRUE(close(by_head.select(1, head), scaled_dot_scores(in.q, in.k, factor).select(1, head)));
  }
}

TEST(Scores, reference_weights) {
  const auto golden = test::golden("attention.json");
  const auto& g = golden["scores"];
  const auto& inputs_of = golden["gaussian_kernel_attention"]["multi_d"];
  const Tensor q = test::tensor(inputs_of["q"]).unsqueeze(0), k = test::tensor(inputs_of["k"]).unsqueeze(0);
  const Tensor scale = torch::tensor(g["scale_per_head"].get<std::vector<double>>(), torch::kFloat64);
  const Tensor weight = test::tensor(g["weight_per_head"]);
  EXPECT_TRUE(close(masked_softmax(cosine_scores(q, k, scale), {})[0], test::tensor(g["cosine"])));
  EXPECT_TRUE(close(masked_softmax(additive_scores(q, k, weight), {})[0], test::tensor(g["additive"])));
  EXPECT_TRUE(close(masked_softmax(linear_scores(q, k, scale), {})[0], test::tensor(g["linear"])));
  EXPECT_TRUE(close(masked_softmax(linear_scores(q, k, scale), causal_mask(4, 6))[0],
                    test::tensor(g["linear_causal"])));
}

TEST(Scores, a_learned_bandwidth_has_its_reference_gradient) {
  const auto g = test::golden("attention.json")["gaussian_kernel_attention"]["multi_d"];
  const Tensor q = test::tensor(g["q"]).unsqueeze(0), k = test::tensor(g["k"]).unsqueeze(0);
  const Tensor v = test::tensor(g["v"]), grad_out = test::tensor(g["grad_out"]);
  const auto vector = [&](const char* name) {
    return torch::tensor(g[name].get<std::vector<double>>(), torch::kFloat64);
  };
  for (const auto score :
       {static_cast<Tensor (*)(const Tensor&, const Tensor&, const Tensor&)>(gaussian_scores),
        gaussian_by_dot_scores}) {
    const auto loss = [&](const Tensor& log_h) {
      return (torch::matmul(masked_softmax(score(q, k, log_h.exp()), {})[0], v) * grad_out).sum();
    };
    EXPECT_TRUE(close(masked_softmax(score(q, k, vector("h_per_head")), {})[0], test::tensor(g["weights"])));
    EXPECT_TRUE(close(test::analytic_gradient(loss, vector("h_per_head").log()), vector("grad_log_h")));
  }
}

TEST(Scores, dot_products_less_half_the_key_norms_are_the_gaussian) {
  for (const test::Sizes& s : test::kSizes) {
    const Inputs in = inputs(s);
    const Tensor h = torch::linspace(0.5, 3.0, s.heads, torch::kFloat64);
    for (const auto& [name, mask] : test::masks(s)) {
      const Tensor visible = resolve(mask, s.queries, s.keys, torch::kCPU);
      EXPECT_TRUE(close(masked_softmax(gaussian_by_dot_scores(in.q, in.k, h), visible),
                        masked_softmax(gaussian_scores(in.q, in.k, h), visible)))
          << name;
    }
  }
}

TEST(Scores, the_cosine_does_not_see_lengths_and_is_0_for_zeros) {
  const Inputs in = inputs({2, 2, 5, 6, 3, 3});
  const Tensor scale = doubles({2.0, 5.0}, {2});
  const Tensor scores = cosine_scores(in.q, in.k, scale);
  EXPECT_TRUE(close(cosine_scores(in.q * 1e3, in.k * 1e-3, scale), scores));
  EXPECT_LE(scores.select(1, 0).abs().max().item<double>(), 2.0 + 1e-12);
  Tensor with_zero = in.q.clone();
  with_zero.select(2, 1).zero_();
  const auto of_q = [&](const Tensor& q) { return cosine_scores(q, in.k, scale).sum(); };
  EXPECT_TRUE((cosine_scores(with_zero, in.k, scale).select(2, 1) == 0).all().item<bool>());
  EXPECT_TRUE(test::all_finite(test::analytic_gradient(of_q, with_zero)));
}

TEST(Scores, linear_ones_stay_finite_where_their_features_vanish) {
  for (const torch::Dtype dtype : {torch::kFloat32, torch::kFloat64}) {
    // Feature 0 is all that query 0 has and nothing of key 1; key 2 has none.
    const Tensor q = torch::tensor({{0.0, -1e3}, {-1e3, 0.0}, {-1e3, -1e3}}, dtype).view({1, 1, 3, 2});
    const Tensor scale = torch::ones({1}, dtype);
    Tensor leaf_q = q.clone().requires_grad_(), leaf_k = q.clone().requires_grad_();
    const Tensor scores = linear_scores(leaf_q, leaf_k, scale);
    EXPECT_TRUE(test::all_finite(scores));
    for (const Tensor& gradient : torch::autograd::grad({scores.sum()}, {leaf_q, leaf_k})) {
      EXPECT_TRUE(test::all_finite(gradient));
    }
  }
}

struct NamedBias {
  std::string name;
  std::function<Tensor(const Tensor& q)> of;
};

std::vector<NamedBias> biases(std::int64_t heads, const Piece& piece) {
  const Tensor table = normal({8, heads}, 21);
  return {{"none", [](const Tensor&) { return torch::zeros({}, torch::kFloat64); }},
          {"alibi", [=](const Tensor&) { return alibi_bias(alibi_slopes(heads), piece, torch::kFloat64); }},
          {"t5",
           [=](const Tensor&) {
             return table.index({t5_buckets(piece, {8, 16}, torch::kCPU)}).permute({2, 0, 1});
           }},
          {"positional kernel",
           [=](const Tensor&) { return positional_log_kernel({}, heads, piece, torch::kFloat64); }},
          {"window of the query", [=](const Tensor& q) {
             return window_bias(q.narrow(-1, 0, 1), 0.3 * q.narrow(-1, 1, 1), piece);
           }}};
}

TEST(Scores, gradients_are_the_numeric_ones_for_each_score_bias_and_mask) {
  const test::Sizes s{1, 2, 3, 4, 3, 2};
  const Inputs in = inputs(s);
  const Tensor grad_y = normal({1, 2, 3, 2}, 6);
  for (const auto& [mask_name, mask] : test::masks(s)) {
    const Tensor visible = resolve(mask, 3, 4, torch::kCPU);
    for (const auto& [bias_name, bias] : biases(2, whole(3, 4))) {
      for (const auto& score : test::scores(2, 3)) {
        const auto loss = [&, &bias = bias](const Tensor& q, const Tensor& k, const Tensor& p) {
          return (attend_explicit(score.of(q, k, p) + bias(q), in.v, visible).y * grad_y).sum();
        };
        const auto of_q = [&](const Tensor& q) { return loss(q, in.k, score.parameter); };
        const auto of_k = [&](const Tensor& k) { return loss(in.q, k, score.parameter); };
        const auto of_parameter = [&](const Tensor& p) { return loss(in.q, in.k, p); };
        SCOPED_TRACE(score.name + ", bias " + bias_name + ", mask " + mask_name);
        for (const auto& [f, x] : {std::pair{std::function<Tensor(const Tensor&)>(of_q), in.q},
                                   {of_k, in.k},
                                   {of_parameter, score.parameter}}) {
          EXPECT_TRUE(close(test::analytic_gradient(f, x), test::numeric_gradient(f, x),
                            test::kNumericGradientTolerance));
        }
      }
    }
  }
}

TEST(Scores, an_additive_bias_has_its_reference_output) {
  const auto g = test::golden("attention.json")["sdpa"];
  const Tensor scores = scaled_dot_scores(test::tensor(g["q"]), test::tensor(g["k"]), 0.5);
  const auto& want = g["variants"]["causal_additive_bias"];
  EXPECT_TRUE(
      close(attend_explicit(scores + test::tensor(want["bias"]), test::tensor(g["v"]), causal_mask(6, 6)).y,
            test::tensor(want["out"])));
}

TEST(Scores, shapes_that_do_not_fit_are_refused) {
  const Inputs in = inputs({2, 2, 6, 5, 4, 3});
  for (const auto& score : test::scores(2, 4)) {
    EXPECT_THROW(score.of(in.q, in.k.narrow(3, 0, 3), score.parameter), ShapeError) << score.name;
    EXPECT_THROW(score.of(in.q, in.k.narrow(1, 0, 1), score.parameter), ShapeError) << score.name;
    EXPECT_THROW(score.of(in.q[0], in.k[0], score.parameter), ShapeError) << score.name;
    if (score.name == "dot") continue;  // its factor is a number
    EXPECT_THROW(score.of(in.q, in.k, torch::ones({3}, torch::kFloat64)), ShapeError) << score.name;
  }
}

}  // namespace
}  // namespace headtorch::attention
