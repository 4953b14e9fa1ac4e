#include "src/nn/fused_blocks.hpp"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <functional>
#include <vector>

#include "src/core/error.hpp"
#include "src/nn/feed_forward.hpp"

namespace headtorch::nn {
namespace {

using torch::Tensor;

constexpr std::uint64_t kSeed = 9;
constexpr std::int64_t kStep = 2, kFirst = 3;

class FusedBlocks : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fits_kernels(torch::empty({1}))) GTEST_SKIP() << "this processor has neither AVX2 nor AVX-512";
    torch::manual_seed(1);
  }
};

DropoutStream stream() { return {kSeed, kStep, kFirst}; }

struct Passed {
  Tensor y, gradient;
};
Passed pass(const Tensor& x, const std::function<Tensor(const Tensor&)>& f, const Tensor& weight) {
  const Tensor leaf = x.detach().clone().requires_grad_(true);
  const Tensor y = f(leaf);
  return {y.detach(), torch::autograd::grad({(y * weight).sum()}, {leaf})[0]};
}

const std::vector<std::vector<std::int64_t>> kShapes = {{1, 1},  {2, 7},         {3, 5, 4},
                                                        {4, 33}, {2, 3, 17, 19}, {5, 64}};

TEST_F(FusedBlocks, Dropout_is_the_product_with_the_mask) {
  for (const auto& shape : kShapes) {
    const Tensor x = torch::randn(shape), weight = torch::randn(shape);
    for (const double p : {0.1, 0.5, 0.9}) {
      const Passed fused = pass(
          x, [&](const Tensor& in) { return fused_dropout(in, p, stream().next(in)); }, weight);
      const Passed plain = pass(
          x, [&](const Tensor& in) { return in * stream().mask(in, p); }, weight);
      EXPECT_TRUE(torch::equal(fused.y, plain.y));
      EXPECT_TRUE(torch::equal(fused.gradient, plain.gradient));
    }
  }
}

TEST_F(FusedBlocks, Dropout_takes_what_is_not_contiguous) {
  const Tensor x = torch::randn({6, 10}).t(), weight = torch::randn({6, 10}).t();
  const Passed fused = pass(
      x, [&](const Tensor& in) { return fused_dropout(in.t(), 0.3, stream().next(in.t())); }, weight.t());
  const Passed plain = pass(
      x, [&](const Tensor& in) { return in.t() * stream().mask(in.t(), 0.3); }, weight.t());
  EXPECT_TRUE(torch::equal(fused.y, plain.y));
  EXPECT_TRUE(torch::equal(fused.gradient, plain.gradient));
}

TEST_F(FusedBlocks, Activation_is_activation_then_dropout) {
  for (const Activation activation : {Activation::kGelu, Activation::kRelu}) {
    for (const auto& shape : kShapes) {
      const Tensor x = 3.0 * torch::randn(shape), weight = torch::randn(shape);
      for (const double p : {0.0, 0.2}) {
        const Passed fused = pass(
            x, [&](const Tensor& in) { return fused_activation(in, activation, p, stream().next(in)); },
            weight);
        const Passed exact = pass(
            x.to(torch::kFloat64),
            [&](const Tensor& in) {
              const Tensor active = activation == Activation::kGelu ? torch::gelu(in) : torch::relu(in);
              return p == 0.0 ? active : active * stream().mask(in, p);
            },
            weight.to(torch::kFloat64));
        EXPECT_TRUE(torch::allclose(fused.y.to(torch::kFloat64), exact.y, 1e-6, 1e-6));
        EXPECT_TRUE(torch::allclose(fused.gradient.to(torch::kFloat64), exact.gradient, 1e-6, 2e-6));
      }
    }
  }
}

TEST_F(FusedBlocks, A_feed_forward_draws_the_same_in_float32_and_in_float64) {
  FeedForward layer(FeedForwardOptions{.d_model = 12, .d_ff = 20, .dropout = 0.3});
  const Tensor x = torch::randn({4, 5, 12});
  DropoutStream fused = stream(), plain = stream();
  const Tensor y = layer->forward(x, &fused);
  layer->to(torch::kFloat64);
  const Tensor exact = layer->forward(x.to(torch::kFloat64), &plain);
  EXPECT_TRUE(torch::allclose(y.to(torch::kFloat64), exact, 1e-5, 1e-6));
  EXPECT_TRUE(torch::equal(fused.mask(x, 0.5), plain.mask(x, 0.5)));  // both went on to the same place
}

TEST_F(FusedBlocks, Refuse_what_the_kernels_do_not_take) {
  const Tensor x = torch::randn({2, 3}, torch::kFloat64);
  EXPECT_FALSE(fits_kernels(x));
  EXPECT_THROW(fused_dropout(x, 0.1, {}), ConfigError);
  EXPECT_THROW(fused_activation(x, Activation::kGelu, 0.1, {}), ConfigError);
  EXPECT_THROW(fused_activation(x.to(torch::kFloat32), Activation::kSwiglu, 0.1, {}), ConfigError);
}

}  // namespace
}  // namespace headtorch::nn
