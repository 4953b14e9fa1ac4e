// The whole encoder-decoder: what its three stacks see, and how a probe reaches their heads.

#include <gmock/gmock.h>

#include "tests/models/small_models.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/tensors.hpp"

namespace headtorch::models {
namespace {

using test::close;
using test::fails;
using test::identical;
using testing::HasSubstr;
using torch::Tensor;

constexpr Family kPair = Family::kEncoderDecoder;
constexpr std::int64_t kTargets = 6, kShortSource = 4;  // of the second example

ModelInput some_input() { return {Sequence{some_tokens(2, kTargets)}, some_source(kPair)}; }

Tensor run(MiniTransformer& model, const ModelInput& input, nn::HeadProbe* probe = nullptr) {
  nn::Context context;
  context.probe = probe;
  return model->forward(input, context);
}

TEST(EncoderDecoder, padding_of_the_source_changes_nothing) {
  const torch::NoGradGuard no_grad;
  for (const Case& one : all_cases(kPair)) {
    MiniTransformer model = make_model(one.options);
    const Tensor plain = run(model, some_input());
    ModelInput other = some_input();
    other.source.tokens[1].narrow(0, kShortSource, 3).fill_(3);
    EXPECT_TRUE(identical(run(model, other), plain)) << one.name;
    const ModelInput both = some_input();
    const ModelInput alone = {Sequence{both.target.tokens.narrow(0, 1, 1)},
                              Sequence{both.source.tokens.narrow(0, 1, 1).narrow(1, 0, kShortSource)}};
    EXPECT_TRUE(close(run(model, alone), plain.narrow(0, 1, 1))) << one.name;
    other.source.tokens[1][0] = (other.source.tokens[1][0].item<std::int64_t>() + 1) % kSourceSymbols;
    EXPECT_FALSE(torch::equal(run(model, other)[1], plain[1])) << one.name;
  }
}

TEST(EncoderDecoder, padding_of_the_target_changes_nothing_before_it) {
  const torch::NoGradGuard no_grad;
  for (const Case& one : all_cases(kPair)) {
    MiniTransformer model = make_model(one.options);
    ModelInput padded = some_input();
    padded.target.lengths_B = torch::tensor({kTargets, std::int64_t{3}});
    const Tensor plain = run(model, some_input()), y = run(model, padded);
    ASSERT_EQ(y.sizes(), plain.sizes());
    EXPECT_TRUE(test::all_finite(y));
    EXPECT_TRUE(close(y[0], plain[0])) << one.name;
    EXPECT_TRUE(close(y[1].narrow(0, 0, 3), plain[1].narrow(0, 0, 3))) << one.name;
  }
}

TEST(EncoderDecoder, G04_no_target_sees_a_later_one) {
  const torch::NoGradGuard no_grad;
  for (const Case& one : all_cases(kPair)) {
    MiniTransformer model = make_model(one.options);
    ModelInput other = some_input();
    other.target.tokens.narrow(1, 4, 2).add_(1).remainder_(kSymbols);
    for (const bool training : {false, true}) {
      model->train(training);
      const auto logits = [&](const ModelInput& input) {
        nn::DropoutStream stream(2, 1);
        return model->forward(input, nn::Context{{}, {}, &stream});
      };
      const Tensor a = logits(some_input()), b = logits(other);
      EXPECT_TRUE(identical(b.narrow(1, 0, 4), a.narrow(1, 0, 4))) << one.name;
      EXPECT_FALSE(torch::equal(b.select(1, 5), a.select(1, 5))) << one.name;
    }
  }
}

/// The parameter prefix of a place's attention.
std::string module_of(const ModelOptions& options, std::int64_t place) {
  const AttentionPlace at = attention_place(options, place);
  const std::string stack = at.stack == Stack::kEncoder ? "encoder" : "decoder";
  const std::string module = at.stack == Stack::kCross ? "cross" : "attention";
  return stack + ".layers." + std::to_string(at.layer) + "." + module;
}

TEST(EncoderDecoder, G22_gates_reach_their_own_head_in_each_stack) {
  const torch::NoGradGuard no_grad;
  const ModelOptions options = small_case(kPair).options;
  const std::int64_t places = n_attention_places(options), width = options.d_model / options.n_heads;
  ASSERT_EQ(places, 6);
  MiniTransformer model = make_model(options);
  const Tensor plain = run(model, some_input());
  nn::HeadProbe open;
  open.gates_LH = torch::ones({places, options.n_heads}, torch::kFloat64);
  EXPECT_TRUE(identical(run(model, some_input(), &open), plain));
  for (std::int64_t place = 0; place < places; ++place) {
    for (std::int64_t head = 0; head < options.n_heads; ++head) {
      nn::HeadProbe gate;
      gate.gates_LH = open.gates_LH.clone();
      gate.gates_LH[place][head] = 0.0;
      const Tensor gated = run(model, some_input(), &gate);
      // The same by silencing the head's rows of the value projection.
      MiniTransformer silent = make_model(options);
      for (const std::string part : {".in_proj_weight", ".in_proj_bias"}) {
        silent->named_parameters()[module_of(options, place) + part]
            .narrow(0, 2 * options.d_model + head * width, width)
            .zero_();
      }
      EXPECT_TRUE(close(gated, run(silent, some_input()))) << place << " " << head;
      EXPECT_FALSE(close(gated, plain, 1e-6)) << place << " " << head;
      EXPECT_TRUE(identical(run(model, some_input()), plain)) << "something stays behind";
    }
  }
  nn::HeadProbe few;
  few.gates_LH = torch::ones({4, options.n_heads}, torch::kFloat64);
  EXPECT_TRUE(fails([&] { run(model, some_input(), &few); }, ExitCode::kInternal, HasSubstr("gates")));
}

TEST(EncoderDecoder, a_probe_is_told_each_place_in_order_and_changes_nothing) {
  const torch::NoGradGuard no_grad;
  const ModelOptions options = small_case(kPair).options;
  MiniTransformer model = make_model(options);
  const Tensor plain = run(model, some_input());
  std::vector<std::string> calls;
  const auto named = [&](const std::string& what) -> nn::LayerEdit {
    return [&calls, what](std::int64_t place, const Tensor& tensor) {
      calls.push_back(what + std::to_string(place));
      return tensor;
    };
  };
  nn::HeadProbe probe;
  probe.edit_heads = named("heads ");
  probe.edit_stream = named("stream ");
  EXPECT_TRUE(identical(run(model, some_input(), &probe), plain));
  EXPECT_THAT(calls,
              testing::ElementsAre("stream -1", "heads 0", "stream 0", "heads 1", "stream 1", "stream -2",
                                   "heads 2", "heads 4", "stream 2", "heads 3", "heads 5", "stream 3"));
  ASSERT_EQ(probe.patterns.size(), 6U);
  for (std::int64_t place = 0; place < 6; ++place) {
    const Stack stack = attention_place(options, place).stack;
    EXPECT_EQ(place_index(options, stack, attention_place(options, place).layer), place);
    const Tensor& pattern = probe.patterns[static_cast<std::size_t>(place)];
    EXPECT_EQ(pattern.size(2), stack == Stack::kEncoder ? kSourceLength : kTargets) << place;
    EXPECT_EQ(pattern.size(3), stack == Stack::kDecoder ? kTargets : kSourceLength) << place;
  }
  // An edit of one place's weights, by its number, is an edit of that head.
  for (std::int64_t place = 0; place < 6; ++place) {
    nn::HeadProbe edit, gate;
    edit.edit_pattern = [place](std::int64_t at, const Tensor& weights) {
      return at == place ? weights.index_fill(1, torch::tensor({1}), 0.0) : weights;
    };
    gate.gates_LH = torch::ones({6, 2}, torch::kFloat64);
    gate.gates_LH[place][1] = 0.0;
    EXPECT_TRUE(close(run(model, some_input(), &edit), run(model, some_input(), &gate))) << place;
  }
}

TEST(EncoderDecoder, every_parameter_learns) {
  for (const Case& one : all_cases(kPair)) {
    MiniTransformer model = make_model(one.options);
    model->forward(some_input()).pow(3).sum().backward();
    const nn::Score score = one.options.attention.score;
    const bool asks = score <= nn::Score::kLinear || score == nn::Score::kRawDot;
    for (const auto& p : model->named_parameters()) {
      const bool of_queries = p.key().starts_with("decoder") && p.key().find("norm2") != std::string::npos;
      if (!asks && of_queries) continue;  // nothing learns from them
      ASSERT_TRUE(p.value().grad().defined()) << one.name << " " << p.key();
      EXPECT_GT(p.value().grad().abs().max().item<double>(), 0.0) << one.name << " " << p.key();
    }
  }
}

TEST(EncoderDecoder, one_source_a_target_and_sizes_that_fit) {
  MiniTransformer model = make_model(small_case(kPair).options);
  ModelInput few = some_input(), none = {Sequence{some_tokens(2, kTargets)}};
  few.source.tokens = few.source.tokens.narrow(0, 0, 1);
  few.source.lengths_B = torch::Tensor();
  EXPECT_TRUE(fails([&] { model->forward(few); }, ExitCode::kInternal,
                    testing::AllOf(HasSubstr("1"), HasSubstr("2"))));
  EXPECT_TRUE(fails([&] { model->forward(none); }, ExitCode::kInternal, HasSubstr("source")));
  ModelSizes no_source = small_sizes(kPair), of_causal = small_sizes(Family::kCausal);
  no_source.source = {};
  of_causal.source = {kSourceSymbols, kSourceLength};
  EXPECT_TRUE(fails([&] { make_model(small_case(kPair).options, no_source); }, ExitCode::kBadConfig,
                    HasSubstr("source")));
  EXPECT_TRUE(fails([&] { make_model(small_case(Family::kCausal).options, of_causal); }, ExitCode::kBadConfig,
                    HasSubstr("source")));
  EXPECT_TRUE(fails([] { place_index(small_case(kPair).options, Stack::kSelf, 0); }, ExitCode::kBadConfig));
  EXPECT_TRUE(fails([] { place_index(small_case(kPair).options, Stack::kCross, 2); }, ExitCode::kBadConfig));
}

}  // namespace
}  // namespace headtorch::models
