// MiniTransformer::decode, which reads a token at a time, beside forward, which reads all.

#include <gmock/gmock.h>

#include "src/nn/multi_head_attention.hpp"
#include "tests/models/small_models.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/modules.hpp"

namespace headtorch::models {
namespace {

using nn::Position;
using nn::Score;
using test::close;
using test::fails;
using test::identical;
using testing::AllOf;
using testing::HasSubstr;
using torch::Tensor;
using Feed = std::vector<std::int64_t>;

double limit(torch::Dtype dtype) { return dtype == torch::kFloat64 ? 1e-10 : 1e-5; }

/// Tokens fed in pieces of these sizes, then one at a time.
Tensor decoded(MiniTransformer& model, const Tensor& tokens_BT, const Sequence& source, const Feed& feed) {
  DecodingCache cache;
  std::vector<Tensor> logits;
  const std::int64_t length = tokens_BT.size(1);
  for (std::int64_t first = 0; first < length;) {
    const std::size_t call = logits.size();
    const std::int64_t count = call < feed.size() ? feed[call] : 1;
    logits.push_back(
        model->decode(tokens_BT.narrow(1, first, count), cache, call == 0 ? source : Sequence{}));
    first += count;
    EXPECT_EQ(cache.length(), first);
  }
  return torch::cat(logits, 1);
}

void expect_decoding_is_forward(MiniTransformer model, std::int64_t length, const std::string& name) {
  const torch::NoGradGuard no_grad;
  const Family family = model->options().family;
  const Tensor tokens_BT = some_tokens(2, length);
  const Sequence source = some_source(family);
  const Tensor full = model->forward({Sequence{tokens_BT}, source});
  const std::int64_t prompt = length - 11;
  for (const Feed& feed : {Feed{}, Feed{prompt}, Feed{prompt - 2, 2}}) {
    EXPECT_TRUE(close(decoded(model, tokens_BT, source, feed), full, limit(full.scalar_type())))
        << name << ", first " << (feed.empty() ? 1 : feed[0]);
  }
}

TEST(Decoding, G30_equals_the_full_forward_for_each_score_and_position) {
  for (const Family family : {Family::kCausal, Family::kEncoderDecoder}) {
    for (const Case& one : all_cases(family)) {
      expect_decoding_is_forward(make_model(one.options), kBlock, one.name);
      if (one.options.attention.score != Score::kDot && one.options.position != Position::kLearned) continue;
      expect_decoding_is_forward(make_model(one.options, torch::kFloat32), kBlock, one.name + ", float32");
    }
  }
}

TEST(Decoding, G30_under_each_mask) {
  for (const Family family : {Family::kCausal, Family::kEncoderDecoder}) {
    for (const Score score : {Score::kDot, Score::kLinear, Score::kAdditive, Score::kFixedGaussian}) {
      for (const std::int64_t window : {0, 1, 3}) {
        Case one = small_case(family, score, Position::kSinusoidal);
        one.options.window = window;
        ModelSizes sizes = small_sizes(family);
        expect_decoding_is_forward(make_model(one.options, sizes), kBlock, one.name + " in a window");
        sizes.hidden_tokens = {2, 4};
        expect_decoding_is_forward(make_model(one.options, sizes), kBlock, one.name + ", hidden tokens");
      }
    }
  }
}

TEST(Decoding, G30_with_other_parts) {
  for (const Family family : {Family::kCausal, Family::kEncoderDecoder}) {
    Case one = small_case(family, Score::kDot, Position::kRope);
    one.options.norm = nn::NormPlace::kPost;
    one.options.norm_kind = nn::NormKind::kRms;
    one.options.activation = nn::Activation::kSwiglu;
    one.options.attention.qk_norm = true;
    one.options.attention.scale = {nn::ScaleKind::kLearned};
    one.options.output_weight = OutputWeight::kEmbedding;
    expect_decoding_is_forward(make_model(one.options), kBlock, "other parts");
  }
}

TEST(Decoding, G30_with_heads_replaced_by_kernels) {
  for (auto family = 0; family <= static_cast<int>(KernelFamily::kInduction); ++family) {
    HeadKernel kernel;
    kernel.family = static_cast<KernelFamily>(family);
    kernel.eps = 0.1;
    Case one = small_case(Family::kCausal);
    one.options.head_kernels = {{0, 1, kernel}, {1, 0, kernel}};
    expect_decoding_is_forward(make_model(one.options), kBlock, std::string(family_name(kernel.family)));
  }
}

TEST(Decoding, G30_where_windows_are_attended_in_blocks) {
  Case one = small_case(Family::kCausal, Score::kGaussian, Position::kAlibi);
  one.options.window = 8;
  ModelSizes sizes = small_sizes(Family::kCausal);
  sizes.max_len = 600;
  MiniTransformer model = make_model(one.options, sizes);
  ASSERT_EQ(model->attention(0).path({attention::Visibility::kCausal, {}, 8}, 2, 1, 600), nn::Path::kBlocked);
  expect_decoding_is_forward(model, 600, "blocked");
}

TEST(Decoding, G02_new_queries_stand_behind_what_is_cached) {
  nn::MultiHeadAttentionOptions options;
  options.d_model = options.n_heads = 1;
  options.attention.score = Score::kUniform;
  nn::MultiHeadAttention attention(options);
  attention->to(torch::kFloat64);
  attention->eval();
  test::set(*attention, "in_proj_weight", torch::ones({1, 1}, torch::kFloat64));
  test::set(*attention, "out_proj.weight", torch::ones({1, 1}, torch::kFloat64));
  const Tensor x_BTD = test::doubles({1, 2, 3, 4, 5}, {1, 5, 1});
  nn::KeyValues cache;
  nn::AttentionCall call;
  call.mask.visibility = attention::Visibility::kCausal;
  call.keep = nn::Keep::kPattern;
  call.cache = &cache;
  attention->forward(x_BTD.narrow(1, 0, 3), call);
  const nn::MultiHeadAttentionResult result = attention->forward(x_BTD.narrow(1, 3, 2), call);
  EXPECT_TRUE(close(result.y.flatten(), test::doubles({2.5, 3.0}, {2})));
  EXPECT_TRUE(
      close(result.pattern[0][0], test::doubles({.25, .25, .25, .25, 0, .2, .2, .2, .2, .2}, {2, 5})));
}

TEST(Decoding, G30_the_source_is_read_once) {
  MiniTransformer model = make_model(small_case(Family::kEncoderDecoder).options);
  DecodingCache cache;
  model->decode(some_tokens(2, 3), cache, some_source(Family::kEncoderDecoder));
  const Tensor memory = cache.memory_BSD, k = cache.cross[1].k, v = cache.cross[1].v_BHSE;
  const auto expect_kept = [&] {
    EXPECT_TRUE(cache.memory_BSD.is_same(memory));
    EXPECT_EQ(cache.cross[1].k.data_ptr(), k.data_ptr());
    EXPECT_EQ(cache.cross[1].v_BHSE.data_ptr(), v.data_ptr());
  };
  model->decode(some_tokens(2, 1), cache);
  expect_kept();
  cache.restart();
  EXPECT_EQ(cache.length(), 0);
  const Tensor again = model->decode(some_tokens(2, 3), cache);
  expect_kept();
  EXPECT_TRUE(close(
      again, model->forward({Sequence{some_tokens(2, 3)}, some_source(Family::kEncoderDecoder)}), 1e-10));
}

TEST(Decoding, refuses_models_that_cannot) {
  const auto decode = [](const ModelOptions& options, const ModelSizes& sizes, bool training = false) {
    return [=] {
      MiniTransformer model = make_model(options, sizes);
      model->train(training);
      DecodingCache cache;
      model->decode(some_tokens(2, 3), cache);
    };
  };
  const ModelOptions causal = small_case(Family::kCausal).options;
  EXPECT_TRUE(fails(decode(small_case(Family::kEncoder).options, small_sizes(Family::kEncoder)),
                    ExitCode::kBadConfig, HasSubstr("causal")));
  EXPECT_TRUE(fails(decode(causal, small_sizes(Family::kCausal), true), ExitCode::kBadConfig,
                    HasSubstr("evaluation mode")));
  ModelSizes with_features = small_sizes(Family::kCausal);
  with_features.n_features = 2;
  EXPECT_TRUE(fails(decode(causal, with_features), ExitCode::kBadConfig, HasSubstr("features")));
}

TEST(Decoding, refuses_inputs_that_do_not_fit_and_goes_on_after) {
  MiniTransformer model = make_model(small_case(Family::kCausal).options);
  const Tensor tokens_BT = some_tokens(2, 9);
  const Tensor full = model->forward(tokens_BT);
  DecodingCache cache;
  model->decode(tokens_BT.narrow(1, 0, 5), cache);
  const auto next = [&](const Tensor& tokens) { return [&, tokens] { model->decode(tokens, cache); }; };
  EXPECT_TRUE(fails(next(some_tokens(3, 1)), ExitCode::kInternal, AllOf(HasSubstr("3"), HasSubstr("2"))));
  EXPECT_TRUE(fails(next(some_tokens(2, 1)[0]), ExitCode::kInternal));
  EXPECT_TRUE(fails(next({}), ExitCode::kInternal));
  EXPECT_TRUE(fails(next(some_tokens(2, 12)), ExitCode::kInternal, AllOf(HasSubstr("17"), HasSubstr("16"))));
  EXPECT_EQ(cache.length(), 5);
  EXPECT_TRUE(close(model->decode(tokens_BT.narrow(1, 5, 4), cache), full.narrow(1, 5, 4), 1e-10));
}

TEST(Decoding, refuses_a_source_that_does_not_fit) {
  MiniTransformer model = make_model(small_case(Family::kEncoderDecoder).options);
  DecodingCache cache;
  const auto decode = [&](std::int64_t batch, const Sequence& source) {
    return [&, batch, source] { model->decode(some_tokens(batch, 1), cache, source); };
  };
  const Sequence source = some_source(Family::kEncoderDecoder);
  EXPECT_TRUE(fails(decode(2, {}), ExitCode::kInternal, HasSubstr("source")));
  EXPECT_TRUE(fails(decode(3, source), ExitCode::kInternal, AllOf(HasSubstr("3"), HasSubstr("2"))));
  EXPECT_EQ(cache.length(), 0);
  decode(2, source)();
  cache.restart();
  EXPECT_TRUE(fails(decode(3, {}), ExitCode::kInternal, HasSubstr("3")));
}

}  // namespace
}  // namespace headtorch::models
