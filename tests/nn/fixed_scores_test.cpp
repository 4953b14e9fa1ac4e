#include <gmock/gmock.h>

#include <cmath>

#include "src/attention/fixed_kernels.hpp"
#include "src/attention/softmax.hpp"
#include "src/core/error.hpp"
#include "src/nn/multi_head_attention.hpp"
#include "tests/nn/attention_cases.hpp"
#include "tests/support/modules.hpp"
#include "tests/support/tensors.hpp"

// What each score without learned queries and keys is.

namespace headtorch::nn {
namespace {

using test::close;
using test::doubles;
using test::identical;
using test::normal;

Tensor pattern_of(Score score, const Mask& mask = {}) {
  return make(6, 2, score_options(score))
      ->forward(normal({2, 5, 6}, 4), masked(mask, Keep::kPattern))
      .pattern;
}

TEST(FixedScores, uniform_and_self) {
  EXPECT_TRUE(close(pattern_of(Score::kUniform), torch::full({2, 2, 5, 5}, 0.2, torch::kFloat64)));
  const Tensor early = torch::ones({5, 5}, torch::kFloat64).tril();
  EXPECT_TRUE(close(pattern_of(Score::kUniform, masks(5)[1]),
                    (early / early.sum(-1, true)).expand({2, 2, 5, 5}).contiguous()));
  EXPECT_TRUE(
      identical(pattern_of(Score::kSelf), torch::eye(5, torch::kFloat64).expand({2, 2, 5, 5}).contiguous()));
}

TEST(FixedScores, same_token) {
  const Tensor half = doubles({.5, 0, .5, 0, 0}, {5});
  const Tensor pattern = pattern_of(Score::kSameToken);  // tokens 3 1 3 2 1 and 0 0 4 0 4
  EXPECT_TRUE(close(pattern[0][1][0], half));
  EXPECT_TRUE(close(pattern[0][0][3], doubles({0, 0, 0, 1, 0}, {5})));
  EXPECT_TRUE(close(pattern[1][0][3], doubles({1 / 3., 1 / 3., 0, 1 / 3., 0}, {5})));
  MultiHeadAttention module = make(6, 2, score_options(Score::kSameToken));
  EXPECT_THROW(module->forward(normal({2, 5, 6}, 4)), ShapeError);
}

TEST(FixedScores, positional_kernels_have_their_own_bandwidth_a_head) {
  const auto expected = [](attention::KernelShape shape) {
    const Tensor one = attention::positional_log_kernel({shape, {1.5, 2.5}, {1.0}, {-1.0}}, 2,
                                                        attention::whole(5, 5), torch::kFloat64);
    return attention::masked_softmax(one, {}).expand({2, 2, 5, 5}).contiguous();
  };
  EXPECT_TRUE(close(pattern_of(Score::kFixedGaussian), expected(attention::KernelShape::kGaussian)));
  EXPECT_TRUE(close(pattern_of(Score::kFixedExponential), expected(attention::KernelShape::kExponential)));
}

TEST(FixedScores, untrained_gaussian_compares_inputs_and_is_detached) {
  const Tensor x = normal({2, 5, 6}, 4);
  MultiHeadAttention module = make(6, 2, score_options(Score::kUntrainedGaussian));
  const Tensor squares = (x.unsqueeze(2) - x.unsqueeze(1)).square().sum(-1);
  const Tensor expected = torch::stack(
      {torch::softmax(squares / (-2 * 1.5 * 1.5), -1), torch::softmax(squares / (-2 * 2.5 * 2.5), -1)}, 1);
  EXPECT_TRUE(close(module->forward(x, masked({}, Keep::kPattern)).pattern, expected));
  EXPECT_FALSE(module->scores(x.clone().requires_grad_(), x).requires_grad());
}

TEST(FixedScores, feature_gaussian_compares_rows_and_nothing_that_layers_made_of_them) {
  const Tensor rows = normal({2, 5, 3}, 8), x = normal({2, 5, 6}, 4);
  MultiHeadAttention module = make(6, 2, score_options(Score::kFeatureGaussian));
  AttentionCall call = masked(masks(5)[2], Keep::kPattern);
  call.rows_BSF = rows.clone().requires_grad_();
  const MultiHeadAttentionResult result = module->forward(x, call);
  EXPECT_TRUE(identical(module->forward(x * 3.0, call).pattern, result.pattern));
  EXPECT_FALSE(result.pattern.requires_grad());
  const double bandwidths[] = {1.5, 2.5};
  for (std::int64_t b = 0; b < 2; ++b) {
    const std::int64_t n_visible = b == 0 ? 5 : 3;
    for (std::int64_t h = 0; h < 2; ++h) {
      for (std::int64_t i = 0; i < 5; ++i) {
        std::vector<double> expected(5, 0.0);
        double sum = 0.0;
        for (std::int64_t j = 0; j < n_visible; ++j) {
          const double distance = (rows[b][i] - rows[b][j]).norm().item<double>() / bandwidths[h];
          sum += expected[static_cast<std::size_t>(j)] = std::exp(-0.5 * distance * distance);
        }
        EXPECT_TRUE(close(result.pattern[b][h][i], doubles(expected, {5}) / sum));
      }
    }
  }
  EXPECT_THROW(module->forward(x, masked({})), ShapeError);
}

TEST(FixedScores, feature_gaussian_is_the_same_in_blocks) {
  const std::int64_t length = 600;
  const Tensor x = normal({1, length, 6}, 4);
  MultiHeadAttention module = make(6, 2, score_options(Score::kFeatureGaussian));
  Mask narrow{Visibility::kCausal, {}};
  narrow.window = 16;  // few of so many keys are seen, so that blocks pay
  AttentionCall call = masked(narrow, Keep::kOutput, {});
  call.rows_BSF = normal({1, length, 3}, 8);
  ASSERT_EQ(module->path(call.mask, 1, length, length), Path::kBlocked);
  AttentionCall whole = call;
  whole.edit_pattern = [](const Tensor& weights) { return weights; };
  EXPECT_TRUE(close(module->forward(x, call).y, module->forward(x, whole).y));
}

TEST(FixedScores, raw_dot_compares_inputs_and_trains_through_them) {
  const Tensor x = normal({2, 5, 6}, 4);
  MultiHeadAttention module = make(6, 2, score_options(Score::kRawDot));
  const Tensor weights = torch::softmax(torch::matmul(x, x.transpose(1, 2)) / std::sqrt(6.0), -1);
  EXPECT_TRUE(
      close(module->forward(x, masked({}, Keep::kPattern)).pattern, torch::stack({weights, weights}, 1)));
  EXPECT_TRUE(module->scores(x.clone().requires_grad_(), x).requires_grad());
  EXPECT_FALSE(takes_fused_path(*module));
}

TEST(FixedScores, have_no_queries_and_no_keys_to_train) {
  const std::int64_t d = 6;
  for (const Score score : kScores) {
    if (make(d, 2, score_options(score))->has_projections()) continue;
    const std::int64_t parts = 2;
    EXPECT_EQ(test::parameter_count(*make(d, 2, score_options(score))), parts * (d * d + d));
  }
}

}  // namespace
}  // namespace headtorch::nn
