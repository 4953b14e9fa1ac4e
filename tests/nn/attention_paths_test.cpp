// However a call attends, it gives what the explicit path gives, forward and backward.

#include <gtest/gtest.h>

#include <map>

#include "tests/nn/combinations.hpp"
#include "tests/support/tensors.hpp"

namespace headtorch::nn {
namespace {

using test::close;
using test::identical;
using test::normal;

constexpr test::Sizes kSmall{2, 2, 5, 5, 3, 3}, kLong{1, 2, 520, 520, 2, 2};
constexpr std::int64_t kWindow = 3;

std::string_view path_of(const MultiHeadAttention& module, const Mask& mask, const test::Sizes& s) {
  return path_name(module->path(mask, s.batch, s.queries, s.keys));
}

/// @param limit  for gradients, which sum over all positions.
void expect_explicit(MultiHeadAttention& module, const AttentionCall& call, const test::Sizes& s,
                     double limit) {
  const std::int64_t width = s.heads * s.features;
  const Tensor x = (normal({s.batch, s.queries, width}, 1) * 0.7).requires_grad_();
  const Tensor grad_y = normal({s.batch, s.queries, width}, 2);
  const Tensor y = module->forward(x, call).y, wanted = module->forward(x, explicitly(call)).y;
  EXPECT_TRUE(close(y, wanted));
  const std::vector<Tensor> got = gradients(module, y, x, grad_y);
  const std::vector<Tensor> want = gradients(module, wanted, x, grad_y);
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_TRUE(close(got[i], want[i], limit)) << "parameter " << i;
}

TEST(AttentionPaths, small_calls_equal_the_explicit_one) {
  std::map<std::string_view, int> taken;
  for (const Combination& one : combinations()) {
    MultiHeadAttention module = make(one, kSmall);
    for (const auto& [name, mask] : every_mask(kSmall)) {
      SCOPED_TRACE(one.name() + ", " + name);
      ++taken[path_of(module, mask, kSmall)];
      expect_explicit(module, masked(mask, Keep::kOutput, some_tokens(2, 5)), kSmall, 1e-12);
    }
  }
  EXPECT_GT(taken["fused"], 0);
  EXPECT_GT(taken["linear"], 0);
}

std::vector<Mask> windows() {
  Mask ahead{Visibility::kAll, {}, kWindow};
  Mask behind{Visibility::kCausal, attention::padding_mask(torch::tensor({400}), kLong.keys), kWindow};
  return {ahead, behind};
}

TEST(AttentionPaths, blocks_in_a_window_equal_the_explicit_path) {
  for (const Combination& one : combinations()) {
    MultiHeadAttention module = make(one, kLong);
    for (const Mask& mask : windows()) {
      SCOPED_TRACE(one.name());
      ASSERT_EQ(path_of(module, mask, kLong), "blocked");
      expect_explicit(module, masked(mask, Keep::kOutput, some_tokens(1, kLong.keys)), kLong, 1e-11);
    }
  }
}

TEST(AttentionPaths, the_kept_pattern_beside_blocks_is_that_of_the_explicit_path) {
  for (const Combination& one : combinations()) {
    MultiHeadAttention module = make(one, kLong);
    const torch::NoGradGuard no_grad;
    const AttentionCall call = masked(windows()[1], Keep::kPattern, some_tokens(1, kLong.keys));
    const Tensor x = normal({1, kLong.queries, 4}, 1);
    const MultiHeadAttentionResult blocked = module->forward(x, call);
    EXPECT_TRUE(close(blocked.pattern, module->forward(x, explicitly(call)).pattern)) << one.name();
    AttentionCall plain = call;
    plain.keep = Keep::kOutput;
    EXPECT_TRUE(identical(blocked.y, module->forward(x, plain).y)) << one.name();
  }
}

/// Loss under the dropout of one seed.
Tensor loss_of(MultiHeadAttention& module, const Tensor& x, const AttentionCall& call) {
  DropoutStream stream(7, 1);
  AttentionCall own = call;
  own.dropout = &stream;
  return (module->forward(x, own).y * normal(x.sizes(), 2)).sum();
}

TEST(AttentionPaths, dropout_in_blocks_is_replayed_in_the_backward_pass) {
  const Tensor x = normal({1, kLong.queries, 4}, 1) * 0.7, direction = normal(x.sizes(), 3);
  for (const Combination& one : combinations()) {
    if (one.score == Score::kUntrainedGaussian) continue;  // detached
    MultiHeadAttention module = make(one, kLong, 0.3);
    const AttentionCall call = masked(windows()[1], Keep::kOutput, some_tokens(1, kLong.keys));
    const auto f = [&](const Tensor& at) { return loss_of(module, at, call); };
    const double analytic = (test::analytic_gradient(f, x) * direction).sum().item<double>();
    const torch::NoGradGuard no_grad;
    const auto at = [&](double distance) { return f(x + distance * direction).item<double>(); };
    constexpr double kStep = 1e-4;  // 2,000 numbers move at once, and a cosine's derivatives are large
    const double numeric = (at(-2 * kStep) - 8 * at(-kStep) + 8 * at(kStep) - at(2 * kStep)) / (12 * kStep);
    EXPECT_NEAR(numeric, analytic, 1e-6 * std::max(1.0, std::abs(analytic))) << one.name();
    EXPECT_EQ(at(0.0), at(0.0));
  }
}

TEST(AttentionPaths, blocks_draw_decisions_of_their_own) {
  MultiHeadAttention module = make({Score::kUniform, Position::kNone}, kLong, 0.3);
  const Tensor x = torch::ones({1, kLong.queries, 4}, torch::kFloat64);
  DropoutStream stream(7, 1), twin(7, 1);
  AttentionCall call = masked({Visibility::kAll, {}, kWindow}), again = call;
  call.dropout = &stream;
  again.dropout = &twin;
  const Tensor first = module->forward(x, call).y;
  EXPECT_TRUE(identical(module->forward(x, again).y, first));
  EXPECT_FALSE(close(module->forward(x, call).y, first, 1e-3)) << "the second layer repeats the first";
  // No two blocks of 64 rows are alike.
  EXPECT_FALSE(close(first.narrow(1, 64, 50), first.narrow(1, 128, 50), 1e-3));
  EXPECT_TRUE(identical(stream.mask(x, 0.5), [&] {
    module->forward(x, again);
    return twin.mask(x, 0.5);
  }()));
}

TEST(AttentionPaths, a_window_wider_than_numbers_hides_nothing) {
  for (const Combination& one : combinations()) {
    MultiHeadAttention module = make(one, kSmall);
    const Tensor x = normal({2, 5, 6}, 1);
    const AttentionCall plain = masked({}, Keep::kOutput, some_tokens(2, 5));
    for (const std::int64_t window : {std::int64_t{4}, attention::kNoWindow - 1}) {
      AttentionCall wide = plain;
      wide.mask.window = window;
      EXPECT_TRUE(close(module->forward(x, wide).y, module->forward(x, plain).y)) << one.name();
    }
  }
}

}  // namespace
}  // namespace headtorch::nn
