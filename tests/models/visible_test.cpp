// MiniTransformer::visible against the weights themselves, and tokens that are never seen as keys.

#include <gmock/gmock.h>

#include "tests/models/small_models.hpp"
#include "tests/support/tensors.hpp"

namespace headtorch::models {
namespace {

using test::identical;
using torch::Tensor;

constexpr Family kFamilies[] = {Family::kEncoder, Family::kCausal, Family::kEncoderDecoder};
constexpr std::int64_t kLength = 7;

ModelInput input_of(Family family, bool padded) {
  Sequence target{some_tokens(2, kLength)};
  if (padded) target.lengths_B = torch::tensor({kLength, std::int64_t{4}});
  return {target, some_source(family)};
}

std::vector<Tensor> patterns(MiniTransformer& model, const ModelInput& input) {
  const torch::NoGradGuard no_grad;
  nn::HeadProbe probe;
  nn::Context context;
  context.probe = &probe;
  model->forward(input, context);
  return probe.patterns;
}

TEST(Visible, is_where_weights_are_not_zero) {
  for (const Family family : kFamilies) {
    for (const std::int64_t window : {0, 1, 3}) {
      for (const bool hides : {false, true}) {
        for (const bool padded : {false, true}) {
          SCOPED_TRACE(testing::Message() << static_cast<int>(family) << " window " << window << " hides "
                                          << hides << " padded " << padded);
          ModelOptions options = small_case(family).options;
          options.window = window;
          ModelSizes sizes = small_sizes(family);
          if (hides) sizes.hidden_tokens = {2, 4};
          MiniTransformer model = make_model(options, sizes);
          const ModelInput input = input_of(family, padded);
          const std::vector<Tensor> weights = patterns(model, input);
          ASSERT_EQ(std::ssize(weights), n_attention_places(options));
          for (std::int64_t place = 0; place < std::ssize(weights); ++place) {
            const Tensor& pattern = weights[static_cast<std::size_t>(place)];
            const Tensor visible = model->visible(input, place);
            ASSERT_TRUE(visible.defined());
            EXPECT_EQ(visible.scalar_type(), torch::kBool);
            EXPECT_TRUE(torch::equal(pattern > 0.0, visible.expand_as(pattern))) << place;
          }
        }
      }
    }
  }
}

TEST(HiddenTokens, are_keys_of_no_source_and_change_their_own_row_alone) {
  const torch::NoGradGuard no_grad;
  for (const Family family : {Family::kEncoder, Family::kCausal}) {
    for (const nn::Score score : {nn::Score::kDot, nn::Score::kLinear, nn::Score::kGaussian}) {
      ModelOptions options = small_case(family, score).options;
      ModelSizes sizes = small_sizes(family);
      sizes.hidden_tokens = {2, 4};
      MiniTransformer model = make_model(options, sizes);
      Tensor tokens_BT = torch::tensor({{1, 2, 3, 5, 6}});
      const Tensor a = model->forward(tokens_BT);
      tokens_BT = torch::tensor({{1, 4, 3, 5, 6}});
      const Tensor b = model->forward(tokens_BT);
      for (const std::int64_t row : {0, 2, 3, 4}) EXPECT_TRUE(identical(b[0][row], a[0][row])) << row;
      EXPECT_FALSE(torch::equal(b[0][1], a[0][1]));
      tokens_BT = torch::tensor({{1, 7, 3, 5, 6}});
      EXPECT_FALSE(torch::equal(model->forward(tokens_BT)[0][4], a[0][4]))
          << "one that is not hidden is seen";
    }
  }
}

TEST(HiddenTokens, of_a_source_are_hidden_from_the_decoder_and_those_of_the_target_are_not) {
  const torch::NoGradGuard no_grad;
  ModelSizes sizes = small_sizes(Family::kEncoderDecoder);
  sizes.hidden_tokens = {2, 4};
  MiniTransformer model = make_model(small_case(Family::kEncoderDecoder).options, sizes);
  const auto logits = [&](std::int64_t in_source, std::int64_t in_target) {
    return model->forward({Sequence{torch::tensor({{1L, in_target, 3L, 5L}})},
                           Sequence{torch::tensor({{1L, in_source, 3L, 0L}})}});
  };
  EXPECT_TRUE(identical(logits(4, 6), logits(2, 6)));
  EXPECT_FALSE(torch::equal(logits(1, 6), logits(2, 6)));
  EXPECT_FALSE(torch::equal(logits(2, 4)[0][3], logits(2, 2)[0][3])) << "target tokens are seen";
}

TEST(HiddenTokens, that_are_all_there_is_leave_finite_outputs_and_gradients) {
  for (const Family family : kFamilies) {
    ModelSizes sizes = small_sizes(family);
    sizes.hidden_tokens = {2};
    MiniTransformer model = make_model(small_case(family).options, sizes);
    ModelInput input{Sequence{torch::full({1, 4}, 2, torch::kLong)}};
    if (family == Family::kEncoderDecoder) input.source = {torch::full({1, 3}, 2, torch::kLong)};
    const Tensor y = model->forward(input);
    EXPECT_TRUE(test::all_finite(y));
    y.square().sum().backward();
    for (const Tensor& parameter : model->parameters()) {
      if (parameter.grad().defined()) {
        EXPECT_TRUE(test::all_finite(parameter.grad()));
      }
    }
  }
}

}  // namespace
}  // namespace headtorch::models
