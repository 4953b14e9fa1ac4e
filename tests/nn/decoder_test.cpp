#include "src/nn/decoder.hpp"

#include <gmock/gmock.h>

#include "src/core/error.hpp"
#include "tests/nn/combinations.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/modules.hpp"
#include "tests/support/tensors.hpp"

namespace headtorch::nn {
namespace {

using test::close;
using test::fails;
using test::identical;
using test::normal;
using testing::HasSubstr;

constexpr std::int64_t kWidth = 6, kHeads = 2, kTargets = 4, kSources = 5;

EncoderOptions options(Score score = Score::kDot, Position position = Position::kNone) {
  EncoderOptions o;
  o.layer.attention.d_model = kWidth;
  o.layer.attention.n_heads = kHeads;
  o.layer.attention.attention = score_options(score);
  o.layer.attention.attention.position = position;
  o.layer.d_ff = 10;
  o.layer.dropout = 0.0;
  return o;
}

Decoder make_decoder(const EncoderOptions& o) {
  torch::manual_seed(2);
  Decoder decoder(o);
  decoder->to(torch::kFloat64);
  return lively(decoder);
}

Tensor target(std::uint64_t seed = 1) { return normal({2, kTargets, kWidth}, seed); }
Tensor memory(std::uint64_t seed = 2) { return normal({2, kSources, kWidth}, seed); }

/// Causal, and the second source padded to 3.
DecoderContext context(HeadProbe* probe = nullptr, DropoutStream* dropout = nullptr) {
  DecoderContext c;
  c.mask.visibility = Visibility::kCausal;
  c.memory_mask.visible = attention::padding_mask(torch::tensor({5, 3}), kSources);
  c.dropout = dropout;
  c.probe = probe;
  return c;
}

/// What a decoder may have; positions act in its self-attention alone.
std::vector<Combination> decoder_combinations() {
  std::vector<Combination> all;
  for (const Combination& one : combinations()) {
    if (one.score != Score::kSelf && one.score != Score::kSameToken) all.push_back(one);
  }
  return all;
}

TEST(Decoder, sees_no_later_target_and_no_padding_of_its_source) {
  for (const Combination& one : decoder_combinations()) {
    for (const NormPlace norm : {NormPlace::kPre, NormPlace::kPost}) {
      EncoderOptions o = options(one.score, one.position);
      o.layer.norm = norm;
      Decoder decoder = make_decoder(o);
      const Tensor plain = decoder->forward(target(), memory(), context());
      Tensor later = target(), padded = memory();
      later.narrow(1, 2, 2).mul_(-3.0);
      padded[1].narrow(0, 3, 2).fill_(1e6);
      EXPECT_TRUE(
          identical(decoder->forward(later, memory(), context()).narrow(1, 0, 2), plain.narrow(1, 0, 2)))
          << one.name();
      EXPECT_TRUE(identical(decoder->forward(target(), padded, context()), plain)) << one.name();
      DecoderContext unpadded;
      unpadded.mask.visibility = Visibility::kCausal;
      const Tensor shorter =
          decoder->forward(target().narrow(0, 1, 1), memory().narrow(0, 1, 1).narrow(1, 0, 3), unpadded);
      EXPECT_TRUE(close(shorter, plain.narrow(0, 1, 1))) << one.name();
      EXPECT_FALSE(close(decoder->forward(target(), memory(9), context()), plain, 1e-6)) << "reads no source";
    }
  }
}

TEST(Decoder, the_gradient_is_the_numeric_one_in_both_inputs) {
  const Tensor grad_y = normal({2, kTargets, kWidth}, 5);
  for (const Combination& one : decoder_combinations()) {
    if (one.score == Score::kUntrainedGaussian) continue;  // detached
    EncoderOptions o = options(one.score, one.position);
    o.n_layers = 1;
    Decoder decoder = make_decoder(o);
    const auto of_target = [&](const Tensor& x) {
      return (decoder->forward(x, memory(), context()) * grad_y).sum();
    };
    const auto of_memory = [&](const Tensor& m) {
      return (decoder->forward(target(), m, context()) * grad_y).sum();
    };
    // Norms' and cosines' fifth derivatives are large.
    EXPECT_TRUE(close(test::analytic_gradient(of_target, target()),
                      test::numeric_gradient(of_target, target()), 1e-5))
        << one.name();
    EXPECT_TRUE(close(test::analytic_gradient(of_memory, memory()),
                      test::numeric_gradient(of_memory, memory()), 1e-5))
        << one.name();
  }
}

TEST(Decoder, G22_gates_reach_their_own_head_of_self_and_of_cross_attention) {
  Decoder decoder = make_decoder(options());
  const Tensor plain = decoder->forward(target(), memory(), context());
  HeadProbe open;
  open.gates_LH = torch::ones({4, kHeads}, torch::kFloat64);
  EXPECT_TRUE(identical(decoder->forward(target(), memory(), context(&open)), plain));
  for (std::int64_t place = 0; place < 4; ++place) {
    for (std::int64_t head = 0; head < kHeads; ++head) {
      HeadProbe gate;
      gate.gates_LH = torch::ones({4, kHeads}, torch::kFloat64);
      gate.gates_LH[place][head] = 0.0;
      const Tensor gated = decoder->forward(target(), memory(), context(&gate));
      // The same by silencing the head's rows of the value projection; the bias after merging stays.
      Decoder silent = make_decoder(options());
      const torch::NoGradGuard no_grad;
      const auto parameters = silent->named_parameters();
      const std::string module = place < 2 ? ".attention" : ".cross";
      const std::string prefix = "layers." + std::to_string(place % 2) + module + ".in_proj_";
      for (const std::string of : {"weight", "bias"})
        parameters[prefix + of].narrow(0, 2 * kWidth + 3 * head, 3).zero_();
      EXPECT_TRUE(close(gated, silent->forward(target(), memory(), context()))) << place << " " << head;
      EXPECT_FALSE(close(gated, plain, 1e-6));
    }
  }
  HeadProbe few;
  few.gates_LH = torch::ones({2, kHeads}, torch::kFloat64);
  EXPECT_THROW(decoder->forward(target(), memory(), context(&few)), ShapeError);
}

TEST(Decoder, a_probe_sees_self_then_cross_attention_and_changes_nothing) {
  Decoder decoder = make_decoder(options());
  const Tensor plain = decoder->forward(target(), memory(), context());
  HeadProbe probe;
  std::vector<std::string> calls;
  const auto named = [&](const std::string& what) -> LayerEdit {
    return [&calls, what](std::int64_t place, const Tensor& tensor) {
      calls.push_back(what + std::to_string(place));
      return tensor;
    };
  };
  probe.edit_heads = named("heads ");
  probe.edit_stream = named("stream ");
  EXPECT_TRUE(identical(decoder->forward(target(), memory(), context(&probe)), plain));
  EXPECT_THAT(calls, testing::ElementsAre("stream -1", "heads 0", "heads 2", "stream 0", "heads 1", "heads 3",
                                          "stream 1"));
  ASSERT_EQ(probe.patterns.size(), 4U);
  for (std::size_t place = 0; place < 4; ++place) {
    const std::int64_t keys = place < 2 ? kTargets : kSources;
    ASSERT_THAT(probe.patterns[place].sizes(), testing::ElementsAre(2, kHeads, kTargets, keys));
    EXPECT_TRUE(close(probe.patterns[place].sum(-1), torch::ones({2, kHeads, kTargets}, torch::kFloat64)));
  }
  EXPECT_EQ(probe.patterns[3][1].narrow(-1, 3, 2).abs().max().item<double>(), 0.0) << "padding";
  EXPECT_EQ(probe.patterns[0].triu(1).abs().max().item<double>(), 0.0) << "later targets";
}

TEST(Decoder, recomputed_layers_are_the_kept_ones_to_the_bit) {
  for (const double dropout : {0.0, 0.3}) {
    for (const bool own_stream : {true, false}) {
      const auto run = [&](Activations activations) {
        EncoderOptions o = options();
        o.layer.dropout = o.layer.attention.attention.attention_dropout = dropout;
        o.activations = activations;
        Decoder decoder = make_decoder(o);
        const Tensor x = target().requires_grad_(), m = memory().requires_grad_();
        torch::manual_seed(8);
        DropoutStream stream(4, 1);
        std::vector<Tensor> found = {
            decoder->forward(x, m, context(nullptr, own_stream ? &stream : nullptr))};
        found.push_back(torch::rand({3}, torch::kFloat64));  // what follows draws as it would have
        found[0].square().sum().backward();
        found.push_back(x.grad());
        found.push_back(m.grad());
        for (const Tensor& parameter : decoder->parameters()) found.push_back(parameter.grad());
        return found;
      };
      const auto kept = run(Activations::kKept), again = run(Activations::kRecomputed);
      ASSERT_EQ(again.size(), kept.size());
      for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_TRUE(identical(again[i], kept[i])) << i;
    }
  }
}

TEST(Decoder, every_parameter_learns) {
  for (const Combination& one : decoder_combinations()) {
    Decoder decoder = make_decoder(options(one.score, one.position));
    decoder->forward(target(), memory(), context()).pow(3).sum().backward();
    const bool asks = one.score <= Score::kLinear || one.score == Score::kRawDot;
    for (const auto& p : decoder->named_parameters()) {
      if (!asks && p.key().find("norm2") != std::string::npos)
        continue;  // of queries that nothing learns from
      ASSERT_TRUE(p.value().grad().defined()) << one.name() << " " << p.key();
      EXPECT_GT(p.value().grad().abs().max().item<double>(), 0.0) << one.name() << " " << p.key();
    }
  }
}

TEST(Decoder, head_kernels_go_to_their_own_place_and_others_are_refused) {
  EncoderOptions o = options();
  const HeadKernel on_key_2{.family = KernelFamily::kKey, .key = 2};
  o.head_kernels = {{1, 0, on_key_2, Stack::kCross}};
  HeadProbe probe;
  make_decoder(o)->forward(target(), memory(), context(&probe));
  for (std::size_t place = 0; place < 4; ++place) {
    for (std::int64_t head = 0; head < kHeads; ++head) {
      const bool all_there = (probe.patterns[place].select(1, head).select(-1, 2) == 1.0).all().item<bool>();
      EXPECT_EQ(all_there, place == 3 && head == 0) << place << " " << head;
    }
  }
  for (const HeadKernelPlace& wrong : {HeadKernelPlace{2, 0, on_key_2, Stack::kCross},
                                       {0, 0, on_key_2, Stack::kEncoder},
                                       {-1, 0, on_key_2, Stack::kDecoder},
                                       {0, 2, on_key_2, Stack::kCross}}) {
    o.head_kernels = {wrong};
    EXPECT_TRUE(fails([&] { make_decoder(o); }, ExitCode::kBadConfig))
        << head_name({wrong.layer, wrong.head});
  }
  o.head_kernels = {{0, 0, on_key_2, Stack::kCross}, {0, 0, on_key_2, Stack::kCross}};
  EXPECT_TRUE(fails([&] { make_decoder(o); }, ExitCode::kBadConfig, HasSubstr("C0H0")));
}

TEST(Decoder, what_needs_one_sequence_is_refused) {
  for (const Score score : {Score::kSelf, Score::kSameToken})
    EXPECT_TRUE(
        fails([&] { make_decoder(options(score)); }, ExitCode::kBadConfig, HasSubstr("encoder-decoder")));
  Decoder decoder = make_decoder(options());
  EXPECT_THROW(decoder->forward(target(), normal({3, 5, kWidth}, 1), context()), ShapeError);
  EXPECT_THROW(decoder->forward(target(), normal({2, 5, kWidth + 1}, 1), context()), ShapeError);
  EXPECT_THROW(decoder->forward(normal({2, 5, kWidth + 1}, 1), memory(), context()), ShapeError);
}

}  // namespace
}  // namespace headtorch::nn
