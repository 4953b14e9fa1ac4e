#include <gtest/gtest.h>
#include <torch/torch.h>

#include <iterator>

#include "src/nn/multi_head_attention.hpp"
#include "tests/support/tensors.hpp"

// The score that docs/extending.md adds, as any other.

namespace headtorch::nn {
namespace {

using torch::Tensor;

MultiHeadAttention make_laplace() {
  torch::manual_seed(3);
  MultiHeadAttentionOptions options;
  options.d_model = 6;
  options.n_heads = 2;
  options.attention.score = Score::kLaplace;
  MultiHeadAttention module(options);
  module->to(torch::kFloat64);
  return module;
}

TEST(Extending, A_new_row_of_the_table_has_its_name) {
  EXPECT_EQ(*std::rbegin(kScoreNames), "laplace");
  EXPECT_EQ(static_cast<std::size_t>(Score::kLaplace) + 1, std::size(kScoreNames));
}

TEST(Extending, Its_weights_are_those_of_the_kernel) {
  MultiHeadAttention module = make_laplace();
  const Tensor x = torch::randn({2, 5, 6}, torch::kFloat64);
  AttentionCall call;
  call.mask.visibility = attention::Visibility::kCausal;
  call.keep = Keep::kPattern;
  const Tensor pattern = module->forward(x, call).pattern;
  EXPECT_TRUE(torch::allclose(pattern.sum(-1), torch::ones({2, 2, 5}, torch::kFloat64), 0.0, 1e-12));
  EXPECT_EQ(pattern.triu(1).abs().max().item<double>(), 0.0);

  const auto parameters = module->named_parameters();
  const Tensor qkv = torch::linear(x, parameters["in_proj_weight"], parameters["in_proj_bias"]);
  for (std::int64_t query = 0; query < 5; ++query) {
    const Tensor q = qkv[1][query].narrow(0, 3, 3), k = qkv[1].narrow(0, 0, query + 1).narrow(1, 6 + 3, 3);
    const Tensor kernel = torch::exp(-(k - q).abs().sum(-1));  // its bandwidth starts at 1
    EXPECT_TRUE(
        torch::allclose(pattern[1][1][query].narrow(0, 0, query + 1), kernel / kernel.sum(), 0.0, 1e-12));
  }
}

TEST(Extending, Its_gradient_is_the_numeric_one) {
  MultiHeadAttention module = make_laplace();
  const Tensor x = torch::randn({1, 4, 6}, torch::kFloat64),
               grad_y = torch::randn({1, 4, 6}, torch::kFloat64);
  const auto f = [&](const Tensor& t) { return (module->forward(t).y * grad_y).sum(); };
  EXPECT_TRUE(test::close(test::analytic_gradient(f, x), test::numeric_gradient(f, x),
                          test::kNumericGradientTolerance));
  f(x).backward();
  EXPECT_GT(module->named_parameters()["score.log_bandwidth"].grad().abs().min().item<double>(), 0.0);
}

}  // namespace
}  // namespace headtorch::nn
