#include "src/nn/multi_head_attention.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "src/attention/scores.hpp"
#include "src/core/error.hpp"
#include "src/nn/heads.hpp"
#include "src/nn/self_attention.hpp"
#include "tests/nn/attention_cases.hpp"
#include "tests/support/modules.hpp"
#include "tests/support/tensors.hpp"

namespace headtorch::nn {
namespace {

using test::close;
using test::doubles;
using test::identical;
using test::normal;

// ---- heads

TEST(Heads, G08_split_takes_features_not_positions) {
  const Tensor x = torch::arange(12, torch::kFloat64).view({1, 3, 4});
  const Tensor split = split_heads(x, 2);
  EXPECT_TRUE(identical(split[0][0], doubles({0, 1, 4, 5, 8, 9}, {3, 2})));
  EXPECT_TRUE(identical(split[0][1], doubles({2, 3, 6, 7, 10, 11}, {3, 2})));
  EXPECT_TRUE(identical(merge_heads(split), x));
  const Tensor y = normal({3, 5, 6}, 1);
  for (const std::int64_t n_heads : {1, 2, 3, 6})
    EXPECT_TRUE(identical(merge_heads(split_heads(y, n_heads)), y));
}

TEST(Heads, a_width_that_heads_do_not_divide_is_refused_by_name) {
  EXPECT_THROW(split_heads(torch::zeros({1, 2, 5}), 2), ShapeError);
  EXPECT_THAT([] { make(30, 4); }, testing::ThrowsMessage<ConfigError>(
                                       testing::AllOf(testing::HasSubstr("30"), testing::HasSubstr("4"))));
}

// ---- reference values

TEST(MultiHeadAttention, reference_values) {
  const auto g = test::golden("attention.json")["multihead"];
  MultiHeadAttention module = make(8, 2);
  test::load_projections(*module, g);
  EXPECT_EQ(test::parameter_count(*module), g["parameters"].get<std::int64_t>());
  const Tensor x = test::tensor(g["x"]);
  const Tensor padding =
      attention::padding_mask(torch::tensor(g["lengths"].get<std::vector<std::int64_t>>()), 5);
  for (const Keep keep : {Keep::kOutput, Keep::kPattern}) {
    const MultiHeadAttentionResult plain = module->forward(x, masked({}, keep));
    const MultiHeadAttentionResult hidden = module->forward(x, masked({Visibility::kCausal, padding}, keep));
    EXPECT_TRUE(close(plain.y, test::tensor(g["out"])));
    EXPECT_TRUE(close(hidden.y, test::tensor(g["out_causal_padding"])));
    ASSERT_EQ(plain.pattern.defined(), keep == Keep::kPattern);
    if (keep == Keep::kOutput) continue;
    EXPECT_TRUE(close(plain.pattern, test::tensor(g["weights"])));
    EXPECT_TRUE(close(hidden.pattern, test::tensor(g["weights_causal_padding"])));
  }
}

TEST(MultiHeadAttention, G07_divides_by_the_root_of_the_features_a_head) {
  MultiHeadAttention module = make(8, 2);
  make_transparent(module, 8);
  const Tensor x = torch::cat({torch::ones({1, 1, 4}), torch::zeros({1, 1, 4})}, -1).to(torch::kFloat64);
  const Tensor memory = torch::cat({torch::ones({1, 1, 8}), torch::zeros({1, 1, 8})}, 1).to(torch::kFloat64);
  const Tensor pattern = module->forward(x, memory, masked({}, Keep::kPattern)).pattern;
  EXPECT_TRUE(close(pattern[0][0], doubles({.8807971, .1192029}, {1, 2}), 1e-7));
  EXPECT_TRUE(close(pattern[0][1], doubles({.5, .5}, {1, 2})));
}

TEST(MultiHeadAttention, G09_each_head_keeps_its_own_pattern) {
  // One-hot inputs; head h looks h places further, around the end.
  MultiHeadAttention module = make(16, 4);
  std::vector<Tensor> queries, keys;
  const Tensor eye = torch::eye(4, torch::kFloat64);
  for (std::int64_t h = 0; h < 4; ++h) {
    const auto rows = [&](const Tensor& block) {
      return torch::cat({block, torch::zeros({4, 12}, torch::kFloat64)}, 1);
    };
    queries.push_back(rows(eye * 1e4));
    keys.push_back(rows(torch::roll(eye, h, 1)));
  }
  test::set(*module, "in_proj_weight",
            torch::cat({torch::cat(queries), torch::cat(keys), torch::eye(16, torch::kFloat64)}));
  const Tensor x = torch::cat({eye, torch::zeros({4, 12}, torch::kFloat64)}, 1).unsqueeze(0);
  const Tensor pattern = module->forward(x, masked({}, Keep::kPattern)).pattern;
  ASSERT_THAT(pattern.sizes(), testing::ElementsAre(1, 4, 4, 4));
  for (std::int64_t h = 0; h < 4; ++h)
    EXPECT_TRUE(identical(pattern[0][h], torch::roll(eye, h, 1))) << "head " << h;
}

TEST(MultiHeadAttention, G22_a_head_is_switched_off_before_heads_are_merged) {
  MultiHeadAttention module = make(2, 2);
  make_transparent(module, 2);
  test::set(*module, "out_proj.weight", doubles({1, 10, 100, 1000}, {2, 2}));
  test::set(*module, "out_proj.bias", doubles({.5, .25}, {2}));
  const Tensor x = doubles({2, 3}, {1, 1, 2});
  const auto y = [&](const Tensor& gates) { return module->forward(x, gated(gates)).y.flatten(); };
  const Tensor full = module->forward(x).y.flatten();
  EXPECT_TRUE(close(full, doubles({32.5, 3200.25}, {2})));
  EXPECT_TRUE(identical(y(doubles({1, 1}, {2})), full));
  EXPECT_TRUE(close(y(doubles({0, 1}, {2})), doubles({30.5, 3000.25}, {2})));
  EXPECT_TRUE(close(y(doubles({1, 0}, {2})), doubles({2.5, 200.25}, {2})));
  EXPECT_TRUE(close(y(doubles({0, 0}, {2})), doubles({.5, .25}, {2})));
  EXPECT_TRUE(identical(module->forward(x).y.flatten(), full));  // nothing stays behind
  for (const std::int64_t head : {0, 1}) {
    // The same by an edit of the heads' outputs: a head is zeroed before merging, and the bias stays.
    AttentionCall call;
    call.edit_heads = [&](const Tensor& heads) { return heads.index_fill(1, torch::tensor({head}), 0.0); };
    EXPECT_TRUE(identical(module->forward(x, call).y.flatten(),
                          y(doubles({head == 1 ? 1.0 : 0.0, head == 0 ? 1.0 : 0.0}, {2}))));
  }
  EXPECT_THROW(y(torch::ones({3}, torch::kFloat64)), ShapeError);
  EXPECT_THROW(y(torch::ones({1, 2}, torch::kFloat64)), ShapeError);
}

TEST(MultiHeadAttention, G01_a_query_that_sees_nothing_gives_the_bias_and_finite_gradients) {
  MultiHeadAttention module = make(6, 2);
  test::set(*module, "out_proj.bias", torch::arange(6, torch::kFloat64));
  Tensor visible = torch::ones({4, 4}, torch::kBool).tril();
  visible[2].fill_(false);
  const Tensor x = normal({2, 4, 6}, 3).requires_grad_();
  std::vector<Tensor> outputs;
  for (const Keep keep : {Keep::kOutput, Keep::kPattern}) {
    module->zero_grad();
    const auto result = module->forward(x, masked({Visibility::kAll, visible}, keep));
    outputs.push_back(result.y.detach());
    EXPECT_TRUE(identical(result.y[0][2].detach(), torch::arange(6, torch::kFloat64)));
    result.y.square().sum().backward();
    EXPECT_TRUE(test::all_finite(x.grad()));
    for (const auto& p : module->parameters()) EXPECT_TRUE(test::all_finite(p.grad()));
    if (keep == Keep::kPattern) {
      EXPECT_EQ(result.pattern.select(2, 2).abs().sum().item<double>(), 0.0);
    }
  }
  EXPECT_TRUE(identical(outputs[1], outputs[0]));
}

TEST(MultiHeadAttention, G03_returned_weights_are_those_before_dropout) {
  ScoreOptions options;
  options.attention_dropout = 0.2;
  MultiHeadAttention module = make(6, 2, options);
  module->train();
  const Tensor one = normal({3, 1, 6}, 1), x = normal({3, 6, 6}, 2);
  bool dropped = false;
  for (int repeat = 0; repeat < 20; ++repeat) {
    EXPECT_TRUE((module->forward(one, masked({}, Keep::kPattern)).pattern == 1.0).all().item<bool>());
    const auto result = module->forward(x, masked({}, Keep::kPattern));
    EXPECT_TRUE(close(result.pattern.sum(-1), torch::ones({3, 2, 6}, torch::kFloat64)));
    EXPECT_TRUE(((result.pattern >= 0) & (result.pattern <= 1)).all().item<bool>());
    dropped = dropped || !torch::equal(result.y, module->forward(x).y);
  }
  EXPECT_TRUE(dropped);
  module->eval();
  const auto first = module->forward(x, masked({}, Keep::kPattern)),
             second = module->forward(x, masked({}, Keep::kPattern));
  EXPECT_TRUE(identical(second.pattern, first.pattern));
  EXPECT_TRUE(identical(second.y, first.y));
}

// ---- properties of every score

TEST(MultiHeadAttention, rows_sum_to_one_for_each_score_and_mask) {
  for (const Score score : kScores) {
    MultiHeadAttention module = make(6, 2, score_options(score));
    for (const Mask& mask : masks(5)) {
      const Tensor pattern = module->forward(normal({2, 5, 6}, 1), masked(mask, Keep::kPattern)).pattern;
      ASSERT_THAT(pattern.sizes(), testing::ElementsAre(2, 2, 5, 5));
      // Padded queries of the second sequence may see nothing under self and same token.
      EXPECT_TRUE(close(pattern[0].sum(-1), torch::ones({2, 5}, torch::kFloat64))) << static_cast<int>(score);
      EXPECT_TRUE(close(pattern[1].narrow(1, 0, 3).sum(-1), torch::ones({2, 3}, torch::kFloat64)));
    }
  }
}

TEST(MultiHeadAttention, keeping_the_pattern_and_open_gates_change_no_bit) {
  for (const Score score : kScores) {
    for (const double p : {0.0, 0.3}) {
      ScoreOptions options = score_options(score);
      options.attention_dropout = p;
      options.score_dropout = p;
      MultiHeadAttention module = make(6, 2, options);
      for (const bool training : {false, true}) {
        module->train(training);
        for (const Mask& mask : masks(5)) {
          const Tensor x = normal({2, 5, 6}, 4);
          const auto run = [&](Keep keep, const Tensor& gates) {
            DropoutStream stream(7, 1);
            return module->forward(x, {mask, keep, tokens(), gates, &stream}).y;
          };
          const Tensor plain = run(Keep::kOutput, {});
          EXPECT_TRUE(identical(run(Keep::kPattern, {}), plain)) << static_cast<int>(score);
          EXPECT_TRUE(identical(run(Keep::kOutput, torch::ones({2}, torch::kFloat64)), plain));
          EXPECT_TRUE(test::all_finite(plain));
        }
      }
    }
  }
}

TEST(MultiHeadAttention, the_kept_pattern_is_the_one_that_mixed_the_values) {
  for (const Score score : kScores) {
    MultiHeadAttention module = make(6, 2, score_options(score));
    make_transparent(module, 6);
    const Tensor x = normal({2, 5, 6}, 4);
    for (const Mask& mask : masks(5)) {
      const auto result = module->forward(x, masked(mask, Keep::kPattern));
      EXPECT_TRUE(close(result.y, merge_heads(torch::matmul(result.pattern, split_heads(x, 2)))));
    }
  }
}

TEST(MultiHeadAttention, nothing_looks_at_the_future_for_any_score) {
  for (const Score score : kScores) {
    MultiHeadAttention module = make(6, 2, score_options(score));
    const Tensor x = normal({2, 5, 6}, 4);
    Tensor other = x.clone();
    other.narrow(1, 3, 2).mul_(-30.0);
    const Tensor other_tokens =
        torch::cat({tokens().narrow(1, 0, 3), 3 - tokens().narrow(1, 3, 2).clamp_max(3)}, 1);
    for (const Mask& mask : {masks(5)[1], masks(5)[3]}) {
      for (const Keep keep : {Keep::kOutput, Keep::kPattern}) {
        const auto a = module->forward(x, masked(mask, keep));
        const auto b = module->forward(other, masked(mask, keep, other_tokens));
        EXPECT_TRUE(identical(b.y.narrow(1, 0, 3), a.y.narrow(1, 0, 3))) << static_cast<int>(score);
        if (keep == Keep::kPattern) {
          EXPECT_TRUE(identical(b.pattern.narrow(2, 0, 3), a.pattern.narrow(2, 0, 3)));
        }
      }
      const Tensor leaf = x.clone().requires_grad_();
      const Tensor early = module->forward(leaf, masked(mask)).y.narrow(1, 0, 3);
      const Tensor gradient = torch::autograd::grad({early.sum()}, {leaf})[0];
      EXPECT_TRUE((gradient.narrow(1, 3, 2) == 0).all().item<bool>());
    }
  }
}

TEST(MultiHeadAttention, the_gradient_is_the_numeric_one_for_each_score_and_mask) {
  const Tensor x = normal({2, 5, 6}, 4) * 0.5, grad_y = normal({2, 5, 6}, 5);
  for (const Score score : kScores) {
    if (score == Score::kUntrainedGaussian) continue;  // detached: see its own test
    for (const ScaleKind scale : {ScaleKind::kSqrt, ScaleKind::kLearned}) {
      ScoreOptions options = score_options(score);
      options.scale.kind = scale;
      MultiHeadAttention module = make(6, 2, options);
      for (const Mask& mask : masks(5)) {
        const auto f = [&](const Tensor& t) { return (module->forward(t, masked(mask)).y * grad_y).sum(); };
        // The fifth derivative of a cosine grows as 1 / |q|^5, and queries here are short.
        const double tolerance = score == Score::kCosine ? 1e-6 : test::kNumericGradientTolerance;
        EXPECT_TRUE(close(test::analytic_gradient(f, x), test::numeric_gradient(f, x), tolerance))
            << kScoreNames[static_cast<std::size_t>(score)];
      }
      if (score != Score::kDot && score != Score::kCosine && score != Score::kLinear) break;
    }
  }
}

TEST(MultiHeadAttention, scores_that_know_no_position_are_permutation_equivariant) {
  const Tensor x = normal({2, 5, 6}, 4), order = torch::tensor({2, 4, 0, 3, 1});
  for (const Score score :
       {Score::kDot, Score::kUniform, Score::kSelf, Score::kSameToken, Score::kUntrainedGaussian}) {
    MultiHeadAttention module = make(6, 2, score_options(score));
    const Tensor plain = module->forward(x, masked({})).y;
    const Tensor mixed =
        module->forward(x.index_select(1, order), masked({}, Keep::kOutput, tokens().index_select(1, order)))
            .y;
    EXPECT_TRUE(close(mixed, plain.index_select(1, order))) << static_cast<int>(score);
  }
}

// ---- scale, fused path, cross-attention

TEST(MultiHeadAttention, scale_is_the_root_a_number_or_learned_a_head) {
  const Tensor x = normal({2, 5, 6}, 4);
  const auto with = [&](const Scale& scale) {
    ScoreOptions options;
    options.scale = scale;
    return make(6, 2, options);
  };
  MultiHeadAttention root = with({}), number = with({ScaleKind::kNumber, 0.25}),
                     learned = with({ScaleKind::kLearned, 0});
  EXPECT_TRUE(close(number->scores(x, x), root->scores(x, x) * (0.25 * std::sqrt(3.0))));
  // The learned temperature starts at the root: made in float32, so equal to that precision.
  EXPECT_TRUE(close(learned->scores(x, x), root->scores(x, x), 1e-5));
  EXPECT_TRUE(close(learned->forward(x).y, root->forward(x).y, 1e-5));
  EXPECT_EQ(test::parameter_count(*learned), test::parameter_count(*root) + 2);
  learned->forward(x).y.square().sum().backward();
  EXPECT_GT(learned->named_parameters()["score.log_scale"].grad().abs().min().item<double>(), 0.0);
}

TEST(MultiHeadAttention, takes_the_fused_path_where_it_may) {
  ScoreOptions dropping, learned;
  dropping.attention_dropout = 0.1;
  learned.scale.kind = ScaleKind::kLearned;
  for (const bool training : {false, true}) {
    const auto fused = [&](const ScoreOptions& options) {
      MultiHeadAttention module = make(6, 2, options);
      module->train(training);
      return takes_fused_path(*module);
    };
    EXPECT_TRUE(fused({}));
    EXPECT_EQ(fused(dropping), !training);
    EXPECT_FALSE(fused(learned));
    EXPECT_FALSE(fused(score_options(Score::kUniform)));
  }
}

TEST(MultiHeadAttention, cross_attention_takes_queries_from_x_and_the_rest_from_memory) {
  MultiHeadAttention module = make(6, 2);
  const Tensor x = normal({2, 3, 6}, 1), memory = normal({2, 5, 6}, 2);
  const Tensor w = module->named_parameters()["in_proj_weight"];
  const auto part = [&](const Tensor& from, std::int64_t index) {
    return split_heads(torch::matmul(from, w.narrow(0, index * 6, 6).t()), 2);
  };
  for (const Mask& mask : masks(5)) {
    const Tensor visible = attention::resolve(mask, 3, 5, torch::kCPU);
    const attention::Attended want = attention::attend_explicit(
        attention::scaled_dot_scores(part(x, 0), part(memory, 1), 1 / std::sqrt(3.0)), part(memory, 2),
        visible);
    const auto got = module->forward(x, memory, masked(mask, Keep::kPattern));
    ASSERT_THAT(got.pattern.sizes(), testing::ElementsAre(2, 2, 3, 5));
    EXPECT_TRUE(close(got.pattern, want.pattern));
    EXPECT_TRUE(
        close(got.y, torch::matmul(merge_heads(want.y), module->named_parameters()["out_proj.weight"].t())));
  }
  const Tensor y = normal({2, 5, 6}, 3);
  EXPECT_TRUE(close(module->forward(y, y.clone()).y, module->forward(y).y));
}

TEST(MultiHeadAttention, score_dropout_hides_keys_while_training_only) {
  for (const Score score : {Score::kDot, Score::kUniform}) {
    ScoreOptions options = score_options(score);
    options.score_dropout = 0.5;
    MultiHeadAttention module = make(6, 2, options), plain = make(6, 2, score_options(score));
    const Tensor x = normal({2, 5, 6}, 4);
    module->train();
    const Tensor pattern = module->forward(x, masked({}, Keep::kPattern)).pattern, sum = pattern.sum(-1);
    EXPECT_GT((pattern == 0).sum().item<std::int64_t>(), 20);  // of 100, half expected
    EXPECT_GT((pattern > 0).sum().item<std::int64_t>(), 20);
    EXPECT_TRUE((((sum - 1).abs() < 1e-12) | (sum == 0)).all().item<bool>());
    module->eval();
    EXPECT_TRUE(identical(module->forward(x).y, plain->forward(x).y));
  }
}

TEST(MultiHeadAttention, sizes_that_do_not_fit_are_refused) {
  MultiHeadAttention module = make(6, 2);
  EXPECT_THROW(module->forward(normal({2, 5, 7}, 1)), ShapeError);
  EXPECT_THROW(module->forward(normal({5, 6}, 1)), ShapeError);
  EXPECT_THROW(module->forward(normal({2, 5, 6}, 1), normal({3, 5, 6}, 1)), ShapeError);
  EXPECT_THROW(
      module->forward(normal({2, 5, 6}, 1), masked({Visibility::kAll, torch::ones({5, 4}, torch::kBool)})),
      ShapeError);
  ScoreOptions wrong;
  wrong.bandwidth = {1.0, 2.0, 3.0};
  EXPECT_THROW(make(6, 2, wrong), ConfigError);
}

// ---- one head

TEST(SelfAttention, is_the_formula_with_free_widths) {
  torch::manual_seed(4);
  SelfAttention module(SelfAttentionOptions{.d_model = 5, .d_k = 3, .d_v = 7, .bias = true});
  module->to(torch::kFloat64);
  const Tensor x = normal({2, 4, 5}, 1);
  const auto parameters = module->named_parameters();
  const auto project = [&](const std::string& name) {
    return torch::matmul(x, parameters[name + ".weight"].t()) + parameters[name + ".bias"];
  };
  const Tensor scores = torch::matmul(project("query"), project("key").transpose(1, 2)) / std::sqrt(3.0);
  const SelfAttentionResult plain = module->forward(x);
  EXPECT_TRUE(close(plain.pattern, torch::softmax(scores, -1)));
  EXPECT_TRUE(close(plain.y, torch::matmul(torch::softmax(scores, -1), project("value"))));
  const SelfAttentionResult causal = module->forward(x, {Visibility::kCausal, {}});
  EXPECT_TRUE((causal.pattern.triu(1) == 0).all().item<bool>());
  EXPECT_TRUE(close(causal.pattern.sum(-1), torch::ones({2, 4}, torch::kFloat64)));
  EXPECT_THAT(module->forward(normal({1, 1, 5}, 2)).y.sizes(), testing::ElementsAre(1, 1, 7));
  EXPECT_THROW(module->forward(normal({2, 4, 6}, 1)), ShapeError);
}

}  // namespace
}  // namespace headtorch::nn
