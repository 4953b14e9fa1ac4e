// Layers that compute their activations again give what those that keep them give, to the last bit.

#include <gtest/gtest.h>

#include "tests/models/small_models.hpp"
#include "tests/support/tensors.hpp"

namespace headtorch::models {
namespace {

using test::identical;
using torch::Tensor;

struct Run {
  Tensor logits, next;
  std::vector<Tensor> gradients;
};

Run train_once(const ModelOptions& options, nn::Activations activations, bool own_stream) {
  torch::manual_seed(0);
  MiniTransformer model(options, small_sizes(options.family), activations);
  model->to(torch::kFloat64);
  model->train();
  const ModelInput input{Sequence{some_tokens(2, 6)}, some_source(options.family)};
  torch::manual_seed(8);
  nn::DropoutStream stream(4, 1);
  Run run;
  run.logits = model->forward(input, nn::Context{{}, {}, own_stream ? &stream : nullptr});
  run.next = torch::rand({4});  // what follows draws as it would have
  run.logits.square().sum().backward();
  for (const Tensor& parameter : model->parameters()) run.gradients.push_back(parameter.grad());
  return run;
}

void expect_same(const ModelOptions& options, const std::string& name) {
  for (const bool own_stream : {true, false}) {
    const Run kept = train_once(options, nn::Activations::kKept, own_stream);
    const Run again = train_once(options, nn::Activations::kRecomputed, own_stream);
    EXPECT_TRUE(identical(again.logits, kept.logits)) << name;
    EXPECT_TRUE(identical(again.next, kept.next)) << name;
    ASSERT_EQ(again.gradients.size(), kept.gradients.size());
    for (std::size_t i = 0; i < kept.gradients.size(); ++i) {
      ASSERT_EQ(again.gradients[i].defined(), kept.gradients[i].defined()) << name;
      if (kept.gradients[i].defined()) {
        EXPECT_TRUE(identical(again.gradients[i], kept.gradients[i])) << name << " " << i;
      }
    }
  }
}

TEST(Recompute, is_the_same_model_for_each_family_score_and_position_with_dropout) {
  for (const Family family : {Family::kEncoder, Family::kCausal, Family::kEncoderDecoder}) {
    for (const Case& one : all_cases(family)) expect_same(one.options, one.name);
  }
}

TEST(Recompute, is_the_same_model_with_other_parts) {
  for (const Family family : {Family::kCausal, Family::kEncoderDecoder}) {
    ModelOptions options = small_case(family, nn::Score::kDot, nn::Position::kRope).options;
    options.n_layers = 3;
    options.norm = nn::NormPlace::kPost;
    options.norm_kind = nn::NormKind::kRms;
    options.activation = nn::Activation::kSwiglu;
    options.attention.qk_norm = true;
    options.output_weight = OutputWeight::kEmbedding;
    options.window = 2;
    options.head_kernels = {{1,
                             0,
                             {.family = KernelFamily::kGaussian, .offset = -1.0, .bandwidth = 0.7},
                             family == Family::kCausal ? Stack::kSelf : Stack::kDecoder}};
    expect_same(options, "other parts");
  }
}

TEST(Recompute, dropout_was_on) {
  const ModelOptions options = small_case(Family::kEncoderDecoder).options;
  torch::manual_seed(0);
  MiniTransformer model(options, small_sizes(options.family), nn::Activations::kRecomputed);
  const ModelInput input{Sequence{some_tokens(2, 6)}, some_source(options.family)};
  nn::DropoutStream first(4, 1), second(4, 2);
  EXPECT_FALSE(torch::equal(model->forward(input, nn::Context{{}, {}, &first}),
                            model->forward(input, nn::Context{{}, {}, &second})));
}

}  // namespace
}  // namespace headtorch::models
