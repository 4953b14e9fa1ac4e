#include "models/generation.hpp"

#include <gmock/gmock.h>

#include <csignal>
#include <cstdlib>

#include "src/core/interrupt.hpp"
#include "tests/models/small_models.hpp"
#include "tests/support/errors.hpp"

namespace headtorch::models {
namespace {

using nn::Position;
using nn::Score;
using test::fails;
using testing::ElementsAre;
using testing::HasSubstr;
using torch::Tensor;
using Tokens = std::vector<std::int64_t>;

const std::vector<Tokens> kPrompts = {{3, 1, 4, 1, 5}, {9, 2}};  // of the batch of G30

/// Logits of the next token by one pass over one example's last tokens: the definition.
Tensor next_logits(MiniTransformer& model, const Tokens& read, const Sequence& source, std::int64_t example) {
  const std::int64_t length = std::min<std::int64_t>(std::ssize(read), kBlock);
  const Tensor window = torch::tensor(Tokens(read.end() - length, read.end())).unsqueeze(0);
  ModelInput input(Sequence{window}, source);
  if (source.tokens.defined()) {
    input.source.tokens = source.tokens.narrow(0, example, 1);
    input.source.lengths_B = source.lengths_B.narrow(0, example, 1);
  }
  return model->forward(input)[0][length - 1];
}

Tokens greedy(MiniTransformer& model, Tokens read, const Sequence& source, std::int64_t example,
              std::int64_t count) {
  const torch::NoGradGuard no_grad;
  const auto prompt = std::ssize(read);
  for (std::int64_t i = 0; i < count; ++i)
    read.push_back(next_logits(model, read, source, example).argmax().item<std::int64_t>());
  return {read.begin() + prompt, read.end()};
}

GenerationRequest request_for(Family family, std::int64_t count) {
  GenerationRequest request;
  request.prompts = kPrompts;
  request.max_new_tokens = count;
  request.source = some_source(family);
  return request;
}

void expect_greedy_is_the_full_forward(MiniTransformer model, const std::string& name) {
  const std::int64_t count =
      model->options().attention.score == Score::kDot ? 40 : 18;  // both leave the block
  GenerationRequest request = request_for(model->options().family, count);
  request.sampling.temperature = 0.0;
  std::vector<Tokens> expected;
  for (std::int64_t b = 0; b < 2; ++b)
    expected.push_back(greedy(model, kPrompts[static_cast<std::size_t>(b)], request.source, b, count));
  for (const Caching caching : {Caching::kKeyValues, Caching::kNone}) {
    request.caching = caching;
    const std::vector<Generated> made = generate(model, request);
    for (std::size_t b = 0; b < 2; ++b)
      EXPECT_EQ(made[b].tokens, expected[b]) << name << ", caching " << static_cast<int>(caching);
  }
}

TEST(Generation, G30_greedy_tokens_are_those_of_the_full_forward) {
  for (const Family family : {Family::kCausal, Family::kEncoderDecoder}) {
    for (const Case& one : all_cases(family))
      expect_greedy_is_the_full_forward(make_model(one.options), one.name);
  }
}

TEST(Generation, G30_in_a_window_and_with_hidden_tokens) {
  for (const Family family : {Family::kCausal, Family::kEncoderDecoder}) {
    Case one = small_case(family);
    one.options.window = 3;
    ModelSizes sizes = small_sizes(family);
    sizes.hidden_tokens = {1, 4};
    expect_greedy_is_the_full_forward(make_model(one.options, sizes), "window");
  }
}

TEST(Generation, G12_learned_positions_are_never_read_behind_their_table) {
  MiniTransformer model = make_model(small_case(Family::kCausal).options);
  GenerationRequest request = request_for(Family::kCausal, 20);
  for (const std::size_t length : {1, 10, 15, 16, 17, 40}) {
    request.prompts = {Tokens(length, 7), Tokens(length + 3, 2)};
    request.sampling.temperature = 0.0;
    const std::vector<Generated> made = generate(model, request);
    for (std::size_t b = 0; b < 2; ++b)
      EXPECT_EQ(made[b].tokens, greedy(model, request.prompts[b], {}, 0, 20)) << length;
  }
}

TEST(Generation, sampled_tokens_are_those_of_the_full_forward) {
  MiniTransformer model = make_model(small_case(Family::kCausal, Score::kDot, Position::kRope).options);
  GenerationRequest request = request_for(Family::kCausal, 40);
  request.sampling = {.temperature = 0.8, .top_k = 6, .top_p = 0.95};
  const std::vector<Generated> cached = generate(model, request);
  request.caching = Caching::kNone;
  const std::vector<Generated> computed = generate(model, request);
  for (std::size_t b = 0; b < 2; ++b) EXPECT_EQ(cached[b].tokens, computed[b].tokens);
  EXPECT_NE(cached[0].tokens, cached[1].tokens);
}

TEST(Generation, an_example_does_not_depend_on_the_others) {
  MiniTransformer model = make_model(small_case(Family::kCausal).options);
  GenerationRequest request = request_for(Family::kCausal, 25);
  const std::vector<Generated> two = generate(model, request);
  request.prompts = {kPrompts[0], kPrompts[1], {1, 2, 3, 4, 5, 6, 7, 8, 9}, {0}};
  const std::vector<Generated> four = generate(model, request);
  for (std::size_t b = 0; b < 2; ++b) EXPECT_EQ(four[b].tokens, two[b].tokens);
  request.prompts = {{1}, kPrompts[1]};
  EXPECT_EQ(generate(model, request)[1].tokens, two[1].tokens);
}

TEST(Generation, the_seed_decides) {
  MiniTransformer model = make_model(small_case(Family::kCausal).options);
  GenerationRequest request = request_for(Family::kCausal, 25);
  request.prompts = {{3}, {3}};
  const std::vector<Generated> one = generate(model, request), same = generate(model, request);
  EXPECT_EQ(one[0].tokens, same[0].tokens);
  EXPECT_NE(one[0].tokens, one[1].tokens);
  request.seed = 2;
  EXPECT_NE(generate(model, request)[0].tokens, one[0].tokens);
  request.sampling.temperature = 0.0;
  const std::vector<Generated> greedy_ones = generate(model, request);
  EXPECT_EQ(greedy_ones[0].tokens, greedy_ones[1].tokens);
}

TEST(Generation, the_log_probability_is_that_of_the_model) {
  for (const Family family : {Family::kCausal, Family::kEncoderDecoder}) {
    MiniTransformer model = make_model(small_case(family).options);
    GenerationRequest request = request_for(family, 20);
    request.sampling = {.temperature = 2.0, .top_k = 5};
    const std::vector<Generated> made = generate(model, request);
    for (std::int64_t b = 0; b < 2; ++b) {
      const Generated& one = made[static_cast<std::size_t>(b)];
      Tokens read = kPrompts[static_cast<std::size_t>(b)];
      double expected = 0.0;
      for (const std::int64_t token : one.tokens) {
        expected += next_logits(model, read, request.source, b).log_softmax(-1)[token].item<double>();
        read.push_back(token);
      }
      EXPECT_NEAR(one.log_probability, expected, 1e-9);
    }
  }
}

TEST(Generation, tokens_are_told_as_they_come) {
  MiniTransformer model = make_model(small_case(Family::kCausal).options);
  GenerationRequest request = request_for(Family::kCausal, 4);
  std::vector<std::pair<std::int64_t, std::int64_t>> told;
  request.on_token = [&](std::int64_t example, std::int64_t token) { told.emplace_back(example, token); };
  const std::vector<Generated> made = generate(model, request);
  std::vector<Tokens> by_example(2);
  std::string order;
  for (const auto& [example, token] : told) {
    by_example[static_cast<std::size_t>(example)].push_back(token);
    order += std::to_string(example);
  }
  EXPECT_THAT(by_example, ElementsAre(made[0].tokens, made[1].tokens));
  EXPECT_EQ(order, "11101000");  // the shorter prompt starts three positions earlier
}

TEST(Generation, a_stop_token_ends_its_example) {
  MiniTransformer model = make_model(small_case(Family::kCausal).options);
  GenerationRequest request = request_for(Family::kCausal, 40);
  const std::vector<Generated> whole = generate(model, request);
  request.stop_token = whole[1].tokens[6];
  const std::vector<Generated> stopped = generate(model, request);
  for (std::size_t b = 0; b < 2; ++b) {
    const Tokens& all = whole[b].tokens;
    const auto stop = std::find(all.begin(), all.end(), *request.stop_token);
    EXPECT_EQ(stopped[b].tokens, Tokens(all.begin(), stop == all.end() ? stop : stop + 1));
  }
  EXPECT_LE(stopped[1].tokens.size(), 7U);
}

TEST(GenerationDeathTest, ends_at_a_signal_with_what_there_is) {
  MiniTransformer model = make_model(small_case(Family::kCausal).options);
  const auto interrupted = [&] {
    catch_interrupts();
    GenerationRequest request = request_for(Family::kCausal, 1000000);
    request.prompts = {{3}};
    std::int64_t told = 0;
    request.on_token = [&](std::int64_t, std::int64_t) {
      if (++told == 3) std::raise(SIGINT);
    };
    std::_Exit(generate(model, request)[0].tokens.size() == 3 ? 0 : 1);
  };
  EXPECT_EXIT(interrupted(), testing::ExitedWithCode(0), "");
}

TEST(Generation, refuses_models_that_cannot) {
  const auto run = [](const ModelOptions& options, const ModelSizes& sizes, bool training = false) {
    return [=] {
      MiniTransformer model = make_model(options, sizes);
      model->train(training);
      generate(model, request_for(options.family, 2));
    };
  };
  const ModelOptions causal = small_case(Family::kCausal).options;
  EXPECT_TRUE(fails(run(small_case(Family::kEncoder).options, small_sizes(Family::kEncoder)),
                    ExitCode::kBadConfig, HasSubstr("encoder")));
  EXPECT_TRUE(fails(run(causal, small_sizes(Family::kCausal), true), ExitCode::kBadConfig,
                    HasSubstr("training mode")));
  ModelSizes sizes = small_sizes(Family::kCausal);
  sizes.n_features = 3;
  EXPECT_TRUE(fails(run(causal, sizes), ExitCode::kBadConfig, HasSubstr("3 numbers")));
  sizes = small_sizes(Family::kCausal);
  sizes.n_classes = 12;
  EXPECT_TRUE(fails(run(causal, sizes), ExitCode::kBadConfig, HasSubstr("12 classes")));
}

TEST(Generation, refuses_requests_that_cannot_be) {
  const auto run = [](Family family, const auto& change) {
    return [family, change] {
      GenerationRequest request = request_for(family, 2);
      change(request);
      generate(make_model(small_case(family).options), request);
    };
  };
  using Request = GenerationRequest&;
  const auto causal = [&](const auto& change) { return run(Family::kCausal, change); };
  EXPECT_TRUE(fails(causal([](Request r) { r.max_new_tokens = 0; }), ExitCode::kBadConfig, HasSubstr("0")));
  EXPECT_TRUE(
      fails(causal([](Request r) { r.sampling.top_k = 0; }), ExitCode::kBadConfig, HasSubstr("top_k")));
  EXPECT_TRUE(fails(causal([](Request r) { r.prompts.clear(); }), ExitCode::kBadData));
  EXPECT_TRUE(fails(causal([](Request r) { r.prompts[1].clear(); }), ExitCode::kBadData, HasSubstr("empty")));
  for (const std::int64_t token : {-1, 11}) {
    EXPECT_TRUE(fails(causal([token](Request r) { r.prompts[1][0] = token; }), ExitCode::kBadData,
                      HasSubstr(std::to_string(token))));
  }
  EXPECT_TRUE(fails(causal([](Request r) { r.source = some_source(Family::kEncoderDecoder); }),
                    ExitCode::kInternal, HasSubstr("2 sources")));
  const auto pair = [&](const auto& change) { return run(Family::kEncoderDecoder, change); };
  EXPECT_TRUE(fails(pair([](Request r) { r.source = {}; }), ExitCode::kInternal, HasSubstr("0 sources")));
  EXPECT_TRUE(fails(pair([](Request r) { r.prompts.push_back({1}); }), ExitCode::kInternal, HasSubstr("3")));
}

TEST(Generation, weights_that_are_no_numbers_are_said) {
  MiniTransformer model = make_model(small_case(Family::kCausal).options);
  const torch::NoGradGuard no_grad;
  model->parameters().front().fill_(std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(fails([&] { generate(model, request_for(Family::kCausal, 2)); }, ExitCode::kBadData,
                    HasSubstr("diverged")));
}

}  // namespace
}  // namespace headtorch::models
