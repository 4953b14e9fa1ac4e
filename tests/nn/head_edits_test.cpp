#include <gmock/gmock.h>
#include <torch/torch.h>

#include <map>

#include "src/attention/fixed_kernels.hpp"
#include "src/attention/softmax.hpp"
#include "src/core/error.hpp"
#include "src/core/head_kernel.hpp"
#include "src/nn/multi_head_attention.hpp"
#include "tests/nn/attention_cases.hpp"
#include "tests/support/modules.hpp"
#include "tests/support/tensors.hpp"

namespace headtorch::nn {
namespace {

using test::close;
using test::doubles;
using test::identical;
using test::normal;

// ---- looking at and replacing weights and heads

TEST(HeadEdits, that_only_look_change_nothing) {
  for (const Score score : kScores) {
    for (const double p : {0.0, 0.3}) {
      ScoreOptions options = score_options(score);
      options.attention_dropout = p;
      MultiHeadAttention module = make(6, 2, options);
      for (const Mask& mask : masks(5)) {
        const Tensor x = normal({2, 5, 6}, 4);
        const auto run = [&](const Edit& pattern, const Edit& heads) {
          DropoutStream stream(7, 1);
          AttentionCall call = masked(mask, Keep::kPattern);
          call.dropout = &stream;
          call.edit_pattern = pattern;
          call.edit_heads = heads;
          return module->forward(x, call);
        };
        std::vector<Tensor> seen;
        const Edit look = [&](const Tensor& tensor) {
          seen.push_back(tensor);
          return tensor;
        };
        const auto plain = run({}, {}), with_pattern = run(look, {}), with_heads = run({}, look);
        ASSERT_EQ(seen.size(), 2U);
        EXPECT_TRUE(identical(seen[0], plain.pattern)) << static_cast<int>(score);
        EXPECT_EQ(seen[1].sizes(), (torch::IntArrayRef{2, 2, 5, 3}));
        EXPECT_TRUE(identical(with_heads.y, plain.y));
        // Only the fused path, which the weights' edit rules out, computes in another order.
        EXPECT_TRUE(!writes_weights_out(*module) ? close(with_pattern.y, plain.y)
                                                 : identical(with_pattern.y, plain.y));
        EXPECT_TRUE(identical(with_pattern.pattern, plain.pattern));
      }
    }
  }
}

TEST(HeadEdits, a_given_matrix_mixes_the_values_in_its_place) {
  MultiHeadAttention module = make(4, 2);
  make_transparent(module, 4);
  const Tensor x = doubles({1, 2, 3, 4, 5, 6, 7, 8}, {1, 2, 4});
  const Tensor given = doubles({0, 1, 1, 0, .25, .75, .5, .5}, {1, 2, 2, 2});
  AttentionCall call = masked({}, Keep::kPattern);
  call.edit_pattern = [&](const Tensor&) { return given; };
  const auto result = module->forward(x, call);
  // Head 0 holds features 0 and 1 and swaps the rows; head 1 mixes features 2 and 3 by the second matrix.
  EXPECT_TRUE(close(result.y, doubles({5, 6, 6, 7, 1, 2, 5, 6}, {1, 2, 4})));
  EXPECT_TRUE(identical(result.pattern, given));

  call.edit_pattern = {};
  call.edit_heads = [](const Tensor& heads) { return torch::full_like(heads, 3.0); };
  call.gates_H = doubles({1, .5}, {2});
  EXPECT_TRUE(close(module->forward(x, call).y, doubles({3, 3, 1.5, 1.5, 3, 3, 1.5, 1.5}, {1, 2, 4})));
}

TEST(HeadEdits, the_gradient_reaches_the_weights) {
  MultiHeadAttention module = make(6, 2);
  const Tensor x = normal({2, 5, 6}, 4), grad_y = normal({2, 5, 6}, 5);
  const Tensor start = torch::softmax(normal({2, 2, 5, 5}, 6), -1);
  const auto loss = [&](const Tensor& weights) {
    AttentionCall call;
    call.edit_pattern = [&](const Tensor&) { return weights; };
    return (module->forward(x, call).y.tanh() * grad_y).sum();
  };
  EXPECT_TRUE(close(test::analytic_gradient(loss, start), test::numeric_gradient(loss, start),
                    test::kNumericGradientTolerance));
  // An edit that only looks leaves the weights on the graph of queries and keys.
  Tensor seen;
  AttentionCall call;
  call.edit_pattern = [&](const Tensor& pattern) { return seen = pattern; };
  const Tensor y = module->forward(x, call).y;
  EXPECT_TRUE(torch::autograd::grad({y.sum()}, {seen})[0].defined());
}

TEST(HeadEdits, of_another_shape_are_refused) {
  MultiHeadAttention module = make(6, 2);
  const Tensor x = normal({2, 5, 6}, 4);
  AttentionCall pattern, heads;
  pattern.edit_pattern = [](const Tensor& weights) { return weights.narrow(1, 0, 1); };
  heads.edit_heads = [](const Tensor& values) { return values.narrow(2, 0, 4); };
  EXPECT_THROW(module->forward(x, pattern), ShapeError);
  EXPECT_THROW(module->forward(x, heads), ShapeError);
}

// ---- heads replaced by kernels

MultiHeadAttention with_kernels(const std::map<std::int64_t, HeadKernel>& kernels,
                                const ScoreOptions& score = {}) {
  torch::manual_seed(2);
  MultiHeadAttention module(
      MultiHeadAttentionOptions{.d_model = 6, .n_heads = 2, .attention = score, .head_kernels = kernels});
  module->to(torch::kFloat64);
  return module;
}

const HeadKernel kBefore{.family = KernelFamily::kGaussian, .offset = -1.0, .bandwidth = 0.7, .eps = 0.05};
const HeadKernel kSame{.family = KernelFamily::kSameToken, .eps = 0.2};

TEST(HeadKernels, replace_the_weights_of_their_heads_alone) {
  for (const Score score : kScores) {
    MultiHeadAttention plain = make(6, 2, score_options(score));
    MultiHeadAttention replaced = with_kernels({{1, kSame}}, score_options(score));
    const Tensor x = normal({2, 5, 6}, 4);
    for (const Mask& mask : masks(5)) {
      const Tensor before = plain->forward(x, masked(mask, Keep::kPattern)).pattern;
      const Tensor after = replaced->forward(x, masked(mask, Keep::kPattern)).pattern;
      EXPECT_TRUE(close(after.select(1, 0), before.select(1, 0))) << static_cast<int>(score);
      const Tensor allowed = attention::resolve(mask, 5, 5, torch::kCPU);
      const Tensor visible = allowed.defined() && allowed.dim() == 4 ? allowed.select(1, 0) : allowed;
      EXPECT_TRUE(identical(
          after.select(1, 1),
          attention::head_kernel_weights(kSame, {visible, tokens(), attention::whole(5, 5)}, torch::kFloat64)
              .expand({2, 5, 5})));
    }
  }
}

TEST(HeadKernels, parameters_stay_and_unused_ones_get_no_gradient) {
  MultiHeadAttention plain = make(6, 2), replaced = with_kernels({{0, kBefore}});
  ASSERT_EQ(plain->parameters().size(), replaced->parameters().size());
  for (const auto& item : plain->named_parameters())
    EXPECT_TRUE(identical(replaced->named_parameters()[item.key()], item.value())) << item.key();
  replaced->forward(normal({2, 5, 6}, 4)).y.square().sum().backward();
  const Tensor gradient = replaced->named_parameters()["in_proj_weight"].grad();
  const auto is_zero = [&](std::int64_t first) {
    return (gradient.narrow(0, first, 3) == 0).all().item<bool>();
  };
  EXPECT_TRUE(is_zero(0) && is_zero(6)) << "queries and keys of head 0";
  EXPECT_FALSE(is_zero(3) || is_zero(9) || is_zero(12) || is_zero(15)) << "the rest";
}

TEST(HeadKernels, drop_their_weights_like_any_head_and_rule_the_fused_path_out) {
  ScoreOptions score;
  score.attention_dropout = 0.5;
  MultiHeadAttention module = with_kernels({{0, kBefore}, {1, kSame}}, score);
  make_transparent(module, 6);
  module->eval();
  EXPECT_FALSE(takes_fused_path(*module));
  module->train();
  const Tensor x = torch::ones({2, 5, 6}, torch::kFloat64);
  DropoutStream stream(7, 1);
  AttentionCall call = masked({}, Keep::kPattern);
  call.dropout = &stream;
  const auto result = module->forward(x, call);
  EXPECT_TRUE(close(result.pattern.sum(-1), torch::ones({2, 2, 5}, torch::kFloat64)));
  EXPECT_FALSE(close(result.y, x));
}

TEST(HeadKernels, for_heads_that_are_not_there_are_refused) {
  EXPECT_THROW(with_kernels({{2, kBefore}}), ConfigError);
  EXPECT_THROW(with_kernels({{-1, kBefore}}), ConfigError);
  AttentionCall no_tokens;
  EXPECT_THROW(with_kernels({{0, kSame}})->forward(normal({2, 5, 6}, 4), no_tokens), ShapeError);
}

}  // namespace
}  // namespace headtorch::nn
