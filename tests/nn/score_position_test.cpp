// Each score with each position under each mask: what holds for all of them.

#include <gmock/gmock.h>

#include <cmath>

#include "src/core/error.hpp"
#include "src/nn/heads.hpp"
#include "tests/nn/combinations.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/tensors.hpp"

namespace headtorch::nn {
namespace {

using test::close;
using test::fails;
using test::identical;
using test::normal;
using testing::HasSubstr;

constexpr test::Sizes kSmall{2, 2, 5, 5, 3, 3};
constexpr std::int64_t kWidth = 6;

Tensor input(std::uint64_t seed = 4) { return normal({2, 5, kWidth}, seed) * 0.7; }

AttentionCall under(const Mask& mask, Keep keep = Keep::kOutput) {
  return masked(mask, keep, some_tokens(2, 5));
}

/// [B, H, T, S], all of the mask.
Tensor visible_to(const Mask& mask) {
  const Tensor visible = attention::resolve(mask, 5, 5, torch::kCPU);
  return (visible.defined() ? visible : torch::ones({5, 5}, torch::kBool)).expand({2, 2, 5, 5});
}

/// Calls f for each combination and mask.
template <typename F>
void for_each_case(const F& f) {
  for (const Combination& one : combinations()) {
    MultiHeadAttention module = make(one, kSmall);
    for (const auto& [name, mask] : every_mask(kSmall)) {
      SCOPED_TRACE(one.name() + ", " + name);
      f(module, mask, one);
    }
  }
}

TEST(ScoresAndPositions, rows_sum_to_one_over_what_is_visible) {
  for_each_case([](MultiHeadAttention& module, const Mask& mask, const Combination& one) {
    const Tensor pattern = module->forward(input(), under(mask, Keep::kPattern)).pattern;
    const Tensor visible = visible_to(mask), sums = pattern.sum(-1);
    EXPECT_TRUE((pattern.masked_select(~visible) == 0.0).all().item<bool>());
    EXPECT_TRUE((pattern >= 0.0).all().item<bool>());
    const Tensor sees = visible.any(-1).to(torch::kFloat64);
    if (one.score == Score::kSelf || one.score == Score::kSameToken) {
      // They see less than the mask lets them.
      EXPECT_TRUE((((sums - 1.0).abs() < 1e-12) | (sums == 0.0)).all().item<bool>());
      EXPECT_TRUE((sums <= sees + 1e-12).all().item<bool>());
    } else {
      EXPECT_TRUE(close(sums, sees));
    }
  });
}

TEST(ScoresAndPositions, what_is_hidden_from_a_row_changes_no_bit_of_it) {
  for_each_case([](MultiHeadAttention& module, const Mask& mask, const Combination&) {
    const Tensor seen_BTS = visible_to(mask).any(1), x = input(), plain = module->forward(x, under(mask)).y;
    for (std::int64_t key = 0; key < 5; ++key) {
      Tensor other = x.clone();
      other.select(1, key).mul_(-5.0).add_(1.0);
      const Tensor y = module->forward(other, under(mask)).y;
      for (std::int64_t example = 0; example < 2; ++example) {
        for (std::int64_t row = 0; row < 5; ++row) {
          if (row == key || seen_BTS[example][row][key].item<bool>()) continue;
          EXPECT_TRUE(identical(y[example][row], plain[example][row])) << row << " of " << key;
        }
      }
    }
  });
}

TEST(ScoresAndPositions, the_kept_pattern_mixes_the_values_and_changes_nothing) {
  for_each_case([](MultiHeadAttention& module, const Mask& mask, const Combination&) {
    const Tensor x = input();
    Tensor heads_BHTE;
    AttentionCall call = under(mask, Keep::kPattern);
    call.edit_heads = [&](const Tensor& heads) { return heads_BHTE = heads; };
    const MultiHeadAttentionResult kept = module->forward(x, call);
    EXPECT_TRUE(identical(kept.y, module->forward(x, under(mask)).y));
    const auto parameters = module->named_parameters();
    const Tensor weight = parameters["in_proj_weight"], bias = parameters["in_proj_bias"];
    const Tensor values = torch::linear(x, weight.narrow(0, weight.size(0) - kWidth, kWidth),
                                        bias.narrow(0, bias.size(0) - kWidth, kWidth));
    EXPECT_TRUE(close(heads_BHTE, torch::matmul(kept.pattern, split_heads(values, 2))));
  });
}

TEST(ScoresAndPositions, G22_gates_and_edits_switch_the_same_head_off) {
  for_each_case([](MultiHeadAttention& module, const Mask& mask, const Combination&) {
    const Tensor x = input(), plain = module->forward(x, under(mask)).y;
    AttentionCall open = under(mask);
    open.gates_H = torch::ones({2}, torch::kFloat64);
    EXPECT_TRUE(identical(module->forward(x, open).y, plain));
    for (const std::int64_t head : {0, 1}) {
      AttentionCall gate = under(mask), heads = under(mask), pattern = under(mask);
      gate.gates_H = open.gates_H.index_fill(0, torch::tensor({head}), 0.0);
      heads.edit_heads = [&](const Tensor& z) { return z.index_fill(1, torch::tensor({head}), 0.0); };
      pattern.edit_pattern = heads.edit_heads;
      const Tensor gated = module->forward(x, gate).y;
      EXPECT_TRUE(identical(module->forward(x, heads).y, gated));
      EXPECT_TRUE(close(module->forward(x, pattern).y, gated));
      EXPECT_FALSE(close(gated, plain, 1e-6));
    }
  });
}

TEST(ScoresAndPositions, the_gradient_of_the_input_is_the_numeric_one) {
  const Tensor grad_y = normal({2, 5, kWidth}, 5);
  for_each_case([&](MultiHeadAttention& module, const Mask& mask, const Combination& one) {
    if (one.score == Score::kUntrainedGaussian) return;  // detached: see its own test
    const auto f = [&](const Tensor& x) { return (module->forward(x, under(mask)).y * grad_y).sum(); };
    // The fifth derivative of a cosine grows as 1 / |q|^5, and queries here are short.
    const double limit = one.score == Score::kCosine ? 1e-6 : test::kNumericGradientTolerance;
    EXPECT_TRUE(close(test::analytic_gradient(f, input()), test::numeric_gradient(f, input()), limit));
  });
}

/// Slope of f at 0, by the formula of numeric_gradient.
template <typename F>
double slope(const F& f) {
  constexpr double kStep = 1e-3;
  return (f(-2 * kStep) - 8 * f(-kStep) + 8 * f(kStep) - f(2 * kStep)) / (12 * kStep);
}

TEST(ScoresAndPositions, the_gradient_of_each_parameter_is_the_numeric_one) {
  const Tensor x = input(), grad_y = normal({2, 5, kWidth}, 5);
  for_each_case([&](MultiHeadAttention& module, const Mask& mask, const Combination& one) {
    const Tensor leaf = x.clone().requires_grad_();
    const std::vector<Tensor> analytic =
        gradients(module, module->forward(leaf, under(mask)).y, leaf, grad_y);
    const auto parameters = module->named_parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      Tensor parameter = parameters[i].value();
      const Tensor start = parameter.detach().clone();
      const Tensor direction = normal(parameter.sizes(), 30 + i);
      const torch::NoGradGuard no_grad;
      const double numeric = slope([&](double distance) {
        parameter.copy_(start + distance * direction);
        return (module->forward(x, under(mask)).y * grad_y).sum().item<double>();
      });
      parameter.copy_(start);
      const double wanted = (analytic[i] * direction).sum().item<double>();
      const double limit = one.score == Score::kCosine ? 1e-5 : 1e-7;  // in many directions at once
      EXPECT_NEAR(numeric, wanted, limit * std::max(1.0, std::abs(wanted))) << parameters[i].key();
    }
  });
}

// ---- between two sequences

TEST(ScoresAndPositions, cross_attention_holds_to_every_mask) {
  const test::Sizes sizes{2, 2, 3, 5, 3, 3};
  const Tensor x = normal({2, 3, kWidth}, 1), memory = normal({2, 5, kWidth}, 2);
  for (const Score score : cross_scores()) {
    MultiHeadAttention module = make({score, Position::kNone}, sizes);
    for (const auto& [name, mask] : every_mask(sizes)) {
      SCOPED_TRACE(std::string(kScoreNames[static_cast<std::size_t>(score)]) + ", " + name);
      const Tensor resolved = attention::resolve(mask, 3, 5, torch::kCPU);
      const Tensor visible =
          (resolved.defined() ? resolved : torch::ones({3, 5}, torch::kBool)).expand({2, 2, 3, 5});
      const MultiHeadAttentionResult kept = module->forward(x, memory, {mask, Keep::kPattern});
      EXPECT_TRUE((kept.pattern.masked_select(~visible) == 0.0).all().item<bool>());
      EXPECT_TRUE(close(kept.pattern.sum(-1), visible.any(-1).to(torch::kFloat64)));
      EXPECT_TRUE(identical(module->forward(x, memory, {mask}).y, kept.y));
      EXPECT_TRUE(close(module->forward(x, memory, explicitly({mask})).y, kept.y));
      // A key that no query sees is as good as absent.
      const Tensor absent = ~visible.any(1).any(1);  // [B, S]
      const Tensor other = torch::where(absent.unsqueeze(-1), memory * -9.0, memory);
      EXPECT_TRUE(identical(module->forward(x, other, {mask}).y, kept.y));
    }
  }
}

TEST(ScoresAndPositions, G02_causal_cross_attention_is_aligned_to_the_last_key) {
  MultiHeadAttention module = make({Score::kUniform, Position::kNone}, {1, 1, 2, 5, 1, 1});
  test::set(*module, "in_proj_weight", torch::ones({1, 1}, torch::kFloat64));
  test::set(*module, "in_proj_bias", torch::zeros({1}, torch::kFloat64));
  test::set(*module, "out_proj.weight", torch::ones({1, 1}, torch::kFloat64));
  test::set(*module, "out_proj.bias", torch::zeros({1}, torch::kFloat64));
  const Tensor values = test::doubles({1, 2, 3, 4, 5}, {1, 5, 1});
  AttentionCall call{{Visibility::kCausal, {}}, Keep::kPattern};
  const auto two = module->forward(torch::zeros({1, 2, 1}, torch::kFloat64), values, call);
  EXPECT_TRUE(close(two.y.flatten(), test::doubles({2.5, 3.0}, {2})));
  EXPECT_TRUE(close(two.pattern[0][0], test::doubles({.25, .25, .25, .25, 0, .2, .2, .2, .2, .2}, {2, 5})));
  const auto one = module->forward(torch::zeros({1, 1, 1}, torch::kFloat64), values, call);
  EXPECT_TRUE(close(one.y.flatten(), test::doubles({3.0}, {1})));
  // More queries than keys: the first see nothing and give the bias alone, which is 0.
  const auto blind = module->forward(torch::zeros({1, 7, 1}, torch::kFloat64), values, call);
  EXPECT_TRUE(close(blind.y.flatten(), test::doubles({0, 0, 1, 1.5, 2, 2.5, 3}, {7})));
}

// ---- what cannot be

TEST(ScoresAndPositions, what_does_not_go_together_is_refused_by_name) {
  for (const Score score : kScores) {
    for (const Position position : kInside) {
      const auto build = [&] { make({score, position}, kSmall); };
      if (may_have(score, position)) {
        EXPECT_NO_THROW(build());
      } else {
        EXPECT_TRUE(fails(build, ExitCode::kBadConfig,
                          HasSubstr(std::string(kPositionNames[static_cast<std::size_t>(position)]))));
      }
    }
  }
}

TEST(ScoresAndPositions, rope_needs_a_pair_of_features) {
  EXPECT_TRUE(fails(
      [] {
        make({Score::kDot, Position::kRope}, {1, 3, 4, 4, 1, 1});
      },
      ExitCode::kBadConfig, testing::AllOf(HasSubstr("rope"), HasSubstr("1"))));
  EXPECT_NO_THROW(make({Score::kDot, Position::kRope}, {1, 3, 4, 4, 3, 3}));
}

TEST(ScoresAndPositions, positions_of_two_sequences_do_not_compare) {
  for (const Position position : kInside) {
    MultiHeadAttention module = make({Score::kDot, position}, kSmall);
    EXPECT_TRUE(fails(
        [&] {
          module->forward(input(), normal({2, 3, kWidth}, 2));
        },
        ExitCode::kBadConfig, HasSubstr("cross-attention")));
  }
}

TEST(ScoresAndPositions, same_token_needs_tokens) {
  MultiHeadAttention module = make({Score::kSameToken, Position::kNone}, kSmall);
  AttentionCall none, few = masked({}, Keep::kOutput, some_tokens(2, 4));
  EXPECT_TRUE(fails([&] { module->forward(input(), none); }, ExitCode::kInternal, HasSubstr("tokens")));
  EXPECT_TRUE(fails([&] { module->forward(input(), few); }, ExitCode::kInternal, HasSubstr("tokens")));
}

TEST(ScoresAndPositions, masks_and_gates_of_other_shapes_are_refused) {
  for (const Combination& one : combinations()) {
    MultiHeadAttention module = make(one, kSmall);
    AttentionCall gates = under({}), wide = under({Visibility::kAll, torch::ones({5, 4}, torch::kBool)}),
                  numbers = under({Visibility::kAll, torch::ones({5, 5})}), window = under({});
    gates.gates_H = torch::ones({3}, torch::kFloat64);
    window.mask.window = -1;
    for (const AttentionCall& call : {gates, wide, numbers})
      EXPECT_THROW(module->forward(input(), call), ShapeError) << one.name();
    EXPECT_THROW(module->forward(input(), window), ConfigError) << one.name();
  }
}

}  // namespace
}  // namespace headtorch::nn
