#include "src/attention/recompute.hpp"

#include <ATen/autocast_mode.h>
#include <gmock/gmock.h>

#include <thread>

#include "src/core/error.hpp"
#include "tests/support/tensors.hpp"

namespace headtorch::attention {
namespace {

using test::close;
using test::identical;
using test::normal;
using torch::Tensor;

struct Small {
  Tensor weight = normal({4, 5}, 1).requires_grad_();
  Tensor x = normal({3, 4}, 2).requires_grad_();
  Tensor grad_y = normal({3, 5}, 3);

  TensorFunction f() const {
    return [w = weight](const std::vector<Tensor>& in) {
      return torch::dropout(torch::matmul(in[0], w).tanh(), 0.5, true) * in[0].sum();
    };
  }
};

TEST(Recompute, replays_dropout_and_leaves_what_follows_undisturbed) {
  const Small s;
  torch::manual_seed(4);
  const Tensor y = s.f()({s.x});
  const Tensor next = torch::rand({4});
  const auto want = torch::autograd::grad({y}, {s.x, s.weight}, {s.grad_y});
  torch::manual_seed(4);
  const Tensor again = recompute(s.f(), {s.x}, {s.weight});
  EXPECT_TRUE(identical(torch::rand({4}), next));
  const Tensor between = torch::rand({4});
  const auto got = torch::autograd::grad({again}, {s.x, s.weight}, {s.grad_y});
  EXPECT_TRUE(identical(again, y));
  for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(identical(got[i], want[i]));
  const Tensor after = torch::rand({4});
  torch::manual_seed(4);
  s.f()({s.x});
  torch::rand({4});
  EXPECT_TRUE(identical(torch::rand({4}), between));
  EXPECT_TRUE(identical(torch::rand({4}), after));
  EXPECT_FALSE(s.weight.grad().defined());
}

TEST(Recompute, runs_again_in_the_backward_pass_only) {
  const Small s;
  int calls = 0;
  const TensorFunction f = [&](const std::vector<Tensor>& in) {
    ++calls;
    return in[0].exp().sin();
  };
  const Tensor y = recompute(f, {s.x});
  EXPECT_EQ(calls, 1);
  torch::autograd::grad({y.sum()}, {s.x});
  EXPECT_EQ(calls, 2);
  const torch::NoGradGuard no_grad;
  EXPECT_FALSE(recompute(f, {s.x}).requires_grad());
  EXPECT_EQ(calls, 3);
}

TEST(Recompute, works_nested_and_in_a_chain_and_without_gradients_for_some) {
  const Small s;
  const TensorFunction inner = s.f();
  const TensorFunction outer = [&](const std::vector<Tensor>& in) {
    return recompute(inner, {in[0] * 2}, {s.weight}) + in[1];
  };
  const Tensor shift = normal({3, 5}, 5);  // needs no gradient
  torch::manual_seed(4);
  const Tensor y = inner({s.x.sin() * 2}) + shift;
  const auto want = torch::autograd::grad({y}, {s.x, s.weight}, {s.grad_y});
  torch::manual_seed(4);
  const Tensor again = recompute(outer, {s.x.sin(), shift}, {s.weight});
  const auto got = torch::autograd::grad({again}, {s.x, s.weight}, {s.grad_y});
  EXPECT_TRUE(identical(again, y));
  for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(close(got[i], want[i]));
}

TEST(Recompute, threads_may_share_a_parameter) {
  const Tensor weight = normal({4, 4}, 1).requires_grad_();
  std::vector<Tensor> got(4), inputs_of;
  for (std::uint64_t i = 0; i < 4; ++i) inputs_of.push_back(normal({3, 4}, 10 + i));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      at::set_num_threads(1);
      for (int round = 0; round < 50; ++round) {
        const TensorFunction f = [&](const std::vector<Tensor>& in) { return in[0].matmul(weight).tanh(); };
        got[i] = torch::autograd::grad({recompute(f, {inputs_of[i]}, {weight}).sum()}, {weight})[0];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(
        identical(got[i], torch::autograd::grad({inputs_of[i].matmul(weight).tanh().sum()}, {weight})[0]));
  }
  EXPECT_FALSE(weight.grad().defined());
}

TEST(Recompute, autocast_is_that_of_the_first_time_and_its_cache_stays_clean) {
  const Tensor weight = torch::randn({8, 8}).requires_grad_(), x = torch::randn({4, 8});
  std::vector<at::ScalarType> products;
  const TensorFunction f = [&](const std::vector<Tensor>& in) {
    const Tensor y = torch::matmul(in[0], weight);
    products.push_back(y.scalar_type());
    return y.tanh();
  };
  at::autocast::increment_nesting();
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  const Tensor y = recompute(f, {x}, {weight});
  const Tensor plain = torch::matmul(x, weight);  // finds no cast without a gradient in the cache
  at::autocast::set_autocast_enabled(at::kCPU, false);
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  EXPECT_TRUE(plain.requires_grad());
  const Tensor gradient = torch::autograd::grad({y.sum()}, {weight})[0];
  EXPECT_THAT(products, testing::ElementsAre(at::kBFloat16, at::kBFloat16));
  EXPECT_EQ(gradient.scalar_type(), at::kFloat);
  EXPECT_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
}

TEST(Recompute, second_derivatives_are_refused) {
  const Small s;
  const Tensor y = recompute(s.f(), {s.x}, {s.weight});
  EXPECT_THROW(torch::autograd::grad({y.sum()}, {s.x}, {}, std::nullopt, /*create_graph=*/true), Error);
}

}  // namespace
}  // namespace headtorch::attention
