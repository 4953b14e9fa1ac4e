// RMSNorm, LayerNorm, SwiGLU and QK-norm.

#include <gmock/gmock.h>

#include "src/core/error.hpp"
#include "src/nn/feed_forward.hpp"
#include "src/nn/norm.hpp"
#include "tests/nn/combinations.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/modules.hpp"
#include "tests/support/tensors.hpp"

namespace headtorch::nn {
namespace {

using nlohmann::json;
using test::close;
using test::fails;
using test::identical;
using test::normal;

Norm make_norm(NormKind kind, std::int64_t width) {
  Norm norm(NormOptions{.width = width, .kind = kind});
  norm->to(torch::kFloat64);
  return norm;
}

TEST(Norm, reference_values_and_gradients) {
  const json file = test::golden("norms.json");
  for (const auto& [name, kind] : {std::pair("rms_norm", NormKind::kRms), {"layer_norm", NormKind::kLayer}}) {
    const json& g = file[name];
    Norm norm = make_norm(kind, 5);
    test::set(*norm, "weight", test::tensor(g["weight"]));
    if (kind == NormKind::kLayer) test::set(*norm, "bias", test::tensor(g["bias"]));
    const Tensor x = test::tensor(g["x"]).requires_grad_();
    const Tensor y = norm->forward(x);
    EXPECT_TRUE(close(y, test::tensor(g["y"]))) << name;
    (y * test::tensor(g["grad_y"])).sum().backward();
    EXPECT_TRUE(close(x.grad(), test::tensor(g["grad_x"]))) << name;
    EXPECT_TRUE(close(norm->weight.grad(), test::tensor(g["grad_weight"]))) << name;
    if (kind == NormKind::kLayer) {
      EXPECT_TRUE(close(norm->bias.grad(), test::tensor(g["grad_bias"])));
    }
  }
}

TEST(Norm, knows_no_length_and_layer_norm_no_shift) {
  const Tensor x = normal({4, 7}, 1) * 3.0;
  Norm rms = make_norm(NormKind::kRms, 7), layer = make_norm(NormKind::kLayer, 7);
  // eps = 1e-5 counts beside a mean square of 9 and of 900.
  EXPECT_TRUE(close(rms->forward(x * 10.0), rms->forward(x), 1e-5));
  EXPECT_TRUE(close(layer->forward(x * 10.0), layer->forward(x), 1e-5));
  EXPECT_TRUE(close(layer->forward(x + 2.0), layer->forward(x), 1e-10));
  EXPECT_FALSE(close(rms->forward(x + 2.0), rms->forward(x), 1e-2));
  EXPECT_EQ(test::parameter_count(*rms), 7);
  EXPECT_EQ(test::parameter_count(*layer), 14);
}

TEST(Norm, the_gradient_is_the_numeric_one) {
  const Tensor grad_y = normal({2, 3, 5}, 2);
  for (const NormKind kind : {NormKind::kRms, NormKind::kLayer}) {
    Norm norm = lively(make_norm(kind, 5));
    const auto f = [&](const Tensor& x) { return (norm->forward(x) * grad_y).sum(); };
    const Tensor x = normal({2, 3, 5}, 1);
    EXPECT_TRUE(close(test::analytic_gradient(f, x), test::numeric_gradient(f, x), 1e-7));
  }
}

TEST(Norm, zeros_and_one_feature_stay_finite) {
  for (const NormKind kind : {NormKind::kRms, NormKind::kLayer}) {
    for (const std::int64_t width : {1, 3}) {
      Norm norm = make_norm(kind, width);
      const Tensor x = torch::zeros({2, width}, torch::kFloat64).requires_grad_();
      const Tensor y = norm->forward(x);
      EXPECT_TRUE(identical(y, torch::zeros({2, width}, torch::kFloat64)));
      y.sum().backward();
      EXPECT_TRUE(test::all_finite(x.grad()));
    }
  }
}

TEST(Norm, is_computed_in_the_weights_precision_or_wider) {
  for (const NormKind kind : {NormKind::kRms, NormKind::kLayer}) {
    Norm norm(NormOptions{.width = 8, .kind = kind});
    // Squares of 1,000 do not fit float16.
    const Tensor x = (normal({3, 8}, 1) * 1000.0).to(torch::kHalf);
    const Tensor y = norm->forward(x);
    EXPECT_EQ(y.scalar_type(), torch::kFloat);
    EXPECT_TRUE(close(y, norm->forward(x.to(torch::kFloat))));
  }
}

TEST(Norm, of_another_width_is_refused) {
  Norm norm = make_norm(NormKind::kRms, 5);
  EXPECT_TRUE(fails(
      [&] {
        norm->forward(normal({2, 4}, 1));
      },
      ExitCode::kInternal, testing::AllOf(testing::HasSubstr("4"), testing::HasSubstr("5"))));
  EXPECT_TRUE(fails([&] { norm->forward(torch::ones({}, torch::kFloat64)); }, ExitCode::kInternal));
}

TEST(SwiGlu, reference_values_and_gradients) {
  const json g = test::golden("norms.json")["swiglu"];
  FeedForward module(FeedForwardOptions{.d_model = 4, .d_ff = 5, .activation = Activation::kSwiglu});
  module->to(torch::kFloat64);
  test::set(*module, "linear1.weight", test::tensor(g["w1"]));
  test::set(*module, "linear1.bias", test::tensor(g["b1"]));
  test::set(*module, "linear2.weight", test::tensor(g["w2"]));
  test::set(*module, "linear2.bias", test::tensor(g["b2"]));
  const Tensor x = test::tensor(g["x"]).requires_grad_();
  const Tensor y = module->forward(x);
  EXPECT_TRUE(close(y, test::tensor(g["y"])));
  (y * test::tensor(g["grad_y"])).sum().backward();
  EXPECT_TRUE(close(x.grad(), test::tensor(g["grad_x"])));
  EXPECT_TRUE(close(module->named_parameters()["linear1.weight"].grad(), test::tensor(g["grad_w1"])));
}

MultiHeadAttention with_qk_norm(Score score, Position position = Position::kNone) {
  ScoreOptions options = score_options(score);
  options.qk_norm = true;
  options.position = position;
  return make(6, 2, options);
}

TEST(QkNorm, reference_scores_and_weights) {
  const json g = test::golden("norms.json")["qk_norm"];
  MultiHeadAttention module = with_qk_norm(Score::kDot);
  test::set(*module, "in_proj_weight", test::tensor(g["in_proj_weight"]));
  test::set(*module, "q_norm.weight", test::tensor(g["q_weight"]));
  test::set(*module, "k_norm.weight", test::tensor(g["k_weight"]));
  const Tensor x = test::tensor(g["x"]);
  EXPECT_TRUE(close(module->scores(x, x), test::tensor(g["scores"])));
  EXPECT_TRUE(close(module->forward(x, masked({}, Keep::kPattern)).pattern, test::tensor(g["pattern"])));
  EXPECT_TRUE(
      close(module->forward(x, x.clone(), masked({}, Keep::kPattern)).pattern, test::tensor(g["pattern"])));
}

TEST(QkNorm, queries_and_keys_of_any_length_give_the_same_weights) {
  MultiHeadAttention module = with_qk_norm(Score::kDot);
  const Tensor x = normal({2, 5, 6}, 1) * 30.0;
  const auto pattern = [&] { return module->forward(x, masked({}, Keep::kPattern)).pattern; };
  const Tensor before = pattern();
  const torch::NoGradGuard no_grad;
  module->named_parameters()["in_proj_weight"].narrow(0, 0, 12).mul_(7.0);
  EXPECT_TRUE(close(pattern(), before, 1e-5));  // but for eps
}

TEST(QkNorm, works_with_every_score_and_position) {
  const Tensor grad_y = normal({2, 5, 6}, 5), x = normal({2, 5, 6}, 4);
  for (const Combination& one : combinations()) {
    MultiHeadAttention module = lively(with_qk_norm(one.score, one.position));
    EXPECT_EQ(module->named_parameters().contains("q_norm.weight"), module->has_projections()) << one.name();
    if (one.score == Score::kUntrainedGaussian) continue;  // detached
    const AttentionCall call = masked({Visibility::kCausal, {}}, Keep::kOutput);
    const auto f = [&](const Tensor& t) { return (module->forward(t, call).y * grad_y).sum(); };
    // A norm's and a cosine's fifth derivative are large where x is short.
    EXPECT_TRUE(close(test::analytic_gradient(f, x), test::numeric_gradient(f, x), 1e-6)) << one.name();
    EXPECT_TRUE(close(module->forward(x, call).y, module->forward(x, explicitly(call)).y)) << one.name();
  }
}

}  // namespace
}  // namespace headtorch::nn
