#include "src/nn/encoder.hpp"

#include <gmock/gmock.h>

#include "src/core/error.hpp"
#include "tests/support/modules.hpp"
#include "tests/support/tensors.hpp"

namespace headtorch::nn {
namespace {

using attention::Mask;
using attention::Visibility;
using test::close;
using test::identical;
using test::normal;
using torch::Tensor;

struct Sizes {
  std::int64_t d_model = 6, n_heads = 2, n_layers = 2, d_ff = 10;
  double dropout = 0.0;
  NormPlace norm = NormPlace::kPre;
};

EncoderOptions options(const Sizes& s) {
  EncoderOptions o;
  o.n_layers = s.n_layers;
  o.layer.attention.d_model = s.d_model;
  o.layer.attention.n_heads = s.n_heads;
  o.layer.attention.attention.attention_dropout = s.dropout;
  o.layer.d_ff = s.d_ff;
  o.layer.dropout = s.dropout;
  o.layer.norm = s.norm;
  return o;
}

Encoder make(const EncoderOptions& o) {
  torch::manual_seed(2);
  Encoder encoder(o);
  encoder->to(torch::kFloat64);
  return encoder;
}
Encoder make(const Sizes& s) { return make(options(s)); }

Mask padded(const std::vector<std::int64_t>& lengths, std::int64_t keys,
            Visibility visibility = Visibility::kAll) {
  return {visibility, attention::padding_mask(torch::tensor(lengths), keys)};
}

Context seen(const Mask& mask, HeadProbe* probe = nullptr) { return {mask, {}, nullptr, probe}; }

HeadProbe gates(const Tensor& gates_LH) {
  HeadProbe probe;
  probe.gates_LH = gates_LH;
  return probe;
}

// ---- reference values

TEST(Encoder, equals_pythons_nn_TransformerEncoder) {
  const auto file = test::golden("torch_encoder.json");
  ASSERT_EQ(file["cases"].size(), 2U);
  for (const auto& g : file["cases"]) {
    for (const torch::Dtype dtype : {torch::kFloat64, torch::kFloat32}) {
      EncoderOptions o =
          options({.d_model = 8, .n_heads = g["heads"], .n_layers = g["layers"], .d_ff = g["d_ff"]});
      o.layer.norm = g["norm_first"].get<bool>() ? NormPlace::kPre : NormPlace::kPost;
      o.layer.activation = g["activation"] == "gelu" ? Activation::kGelu : Activation::kRelu;
      o.layer.norm_eps = g["eps"];
      Encoder encoder = make(o);
      std::size_t loaded = 0;
      for (const auto& [theirs, value] : g["parameters"].items()) {
        std::string name = theirs;
        if (const auto at = name.find("self_attn"); at != std::string::npos) name.replace(at, 9, "attention");
        if (const auto at = name.find("linear"); at != std::string::npos) name.insert(at, "feed_forward.");
        test::set(*encoder, name, test::tensor(value));
        ++loaded;
      }
      ASSERT_EQ(loaded, encoder->parameters().size());
      encoder->to(dtype);
      SCOPED_TRACE(testing::Message() << g["activation"] << ' ' << dtype);

      const auto want = [&](const std::string& name) { return test::tensor(g[name], dtype); };
      const auto lengths = g["lengths"].get<std::vector<std::int64_t>>();
      const Tensor real = attention::padding_mask(torch::tensor(lengths), 5).view({-1, 5, 1});
      const Tensor x = want("x").requires_grad_();
      EXPECT_TRUE(close(encoder->forward(x), want("out")));
      EXPECT_TRUE(close(encoder->forward(x, seen({Visibility::kCausal, {}})), want("out_causal")));
      EXPECT_TRUE(close(encoder->forward(x, seen(padded(lengths, 5))) * real, want("out_padding")));
      for (const bool capture : {false, true}) {
        HeadProbe probe;
        const Tensor y =
            encoder->forward(x, seen(padded(lengths, 5, Visibility::kCausal), capture ? &probe : nullptr)) *
            real;
        EXPECT_TRUE(close(y, want("out_causal_padding")));
        const auto gradients =
            torch::autograd::grad({(y * want("grad_out")).sum()},
                                  {x, encoder->named_parameters()["layers.0.attention.in_proj_weight"]});
        EXPECT_TRUE(close(gradients[0], want("grad_x")));
        EXPECT_TRUE(close(gradients[1], want("grad_in_proj_0")));
      }
    }
  }
}

TEST(EncoderLayer, reference_values_pre_and_post_norm) {
  const auto file = test::golden("attention.json");
  const auto &g = file["block"], &m = file["multihead"];
  const Tensor x = test::tensor(m["x"]);
  for (const NormPlace norm : {NormPlace::kPre, NormPlace::kPost}) {
    EncoderLayer layer(options({.d_model = 8, .n_heads = m["heads"], .d_ff = 12, .norm = norm}).layer);
    layer->to(torch::kFloat64);
    test::load_projections(*layer, m, "attention.");
    for (const auto& [name, key] :
         std::vector<std::pair<std::string, std::string>>{{"norm1.weight", "ln1_g"},
                                                          {"norm1.bias", "ln1_b"},
                                                          {"norm2.weight", "ln2_g"},
                                                          {"norm2.bias", "ln2_b"},
                                                          {"feed_forward.linear1.weight", "w1"},
                                                          {"feed_forward.linear1.bias", "b1"},
                                                          {"feed_forward.linear2.weight", "w2"},
                                                          {"feed_forward.linear2.bias", "b2"}}) {
      test::set(*layer, name, test::tensor(g[key]));
    }
    AttentionCall call;
    call.mask = padded(m["lengths"], 5, Visibility::kCausal);
    EXPECT_TRUE(close(layer->forward(x, call).y,
                      test::tensor(g[norm == NormPlace::kPre ? "out_pre_ln" : "out_post_ln"])));
  }
}

TEST(FeedForward, gelu_is_the_exact_one) {
  const auto g = test::golden("attention.json")["gelu"];
  const Tensor x = test::tensor(g["x"]), eye = torch::eye(6, torch::kFloat64);
  FeedForward module(FeedForwardOptions{.d_model = 6, .d_ff = 6});
  module->to(torch::kFloat64);
  test::set(*module, "linear1.weight", eye);
  test::set(*module, "linear2.weight", eye);
  EXPECT_TRUE(close(module->forward(x), test::tensor(g["exact"])));
  FeedForward relu(FeedForwardOptions{.d_model = 6, .d_ff = 6, .activation = Activation::kRelu});
  relu->to(torch::kFloat64);
  test::set(*relu, "linear1.weight", eye);
  test::set(*relu, "linear2.weight", eye);
  EXPECT_TRUE(identical(relu->forward(x), x.clamp_min(0)));
}

// ---- masks

TEST(Encoder, G04_the_prefix_knows_nothing_of_what_follows) {
  const Tensor x = normal({2, 6, 6}, 4);
  Tensor other = x.clone();
  other.select(1, 5).add_(10.0);
  for (const std::int64_t n_layers : {1, 2, 3}) {
    for (const bool training : {false, true}) {
      for (const bool padding : {false, true}) {
        for (const bool capture : {false, true}) {
          Encoder encoder = make({.n_layers = n_layers, .dropout = 0.2});
          encoder->train(training);
          const auto run = [&](const Tensor& input) {
            DropoutStream stream(3, 1);
            HeadProbe probe;
            const Mask mask =
                padding ? padded({6, 4}, 6, Visibility::kCausal) : Mask{Visibility::kCausal, {}};
            return encoder->forward(input, {mask, {}, &stream, capture ? &probe : nullptr});
          };
          EXPECT_TRUE(identical(run(other).narrow(1, 0, 5), run(x).narrow(1, 0, 5)));
          EXPECT_FALSE(torch::equal(run(other).select(1, 5), run(x).select(1, 5)));
          const Tensor leaf = x.clone().requires_grad_();
          const Tensor y = run(leaf);
          for (std::int64_t t = 0; t < 5; ++t) {
            const Tensor gradient = torch::autograd::grad({y.select(1, t).sum()}, {leaf}, {}, true)[0];
            EXPECT_TRUE((gradient.narrow(1, t + 1, 5 - t) == 0).all().item<bool>());
          }
        }
      }
    }
  }
}

TEST(Encoder, G06_padding_keeps_shape_and_values_in_training_and_evaluation) {
  const Tensor x = normal({2, 6, 6}, 4);
  Encoder encoder = make(Sizes{});
  std::vector<Tensor> outputs;
  for (const bool training : {true, false}) {
    encoder->train(training);
    for (const bool capture : {false, true}) {
      HeadProbe probe;
      outputs.push_back(encoder->forward(x, seen(padded({3, 2}, 6), capture ? &probe : nullptr)).detach());
      ASSERT_THAT(outputs.back().sizes(), testing::ElementsAre(2, 6, 6));
      for (const Tensor& pattern : probe.patterns) {
        ASSERT_THAT(pattern.sizes(), testing::ElementsAre(2, 2, 6, 6));
        EXPECT_EQ(pattern[0].narrow(2, 3, 3).abs().sum().item<double>(), 0.0);
        EXPECT_EQ(pattern[1].narrow(2, 2, 4).abs().sum().item<double>(), 0.0);
      }
    }
  }
  for (const Tensor& y : outputs) {
    EXPECT_TRUE(identical(y, outputs[0]));
    for (const auto& [row, length] : {std::pair{0, 3}, {1, 2}}) {
      const Tensor alone = encoder->forward(x.narrow(0, row, 1).narrow(1, 0, length));
      EXPECT_TRUE(close(y.narrow(0, row, 1).narrow(1, 0, length), alone));
    }
  }
  Tensor other = x.clone();
  other[0].narrow(0, 3, 3).fill_(1e6);
  EXPECT_TRUE(identical(encoder->forward(other, seen(padded({3, 2}, 6)))[0].narrow(0, 0, 3),
                        outputs[0][0].narrow(0, 0, 3)));
}

// ---- shapes

TEST(Encoder, works_at_the_smallest_and_at_odd_sizes) {
  for (const NormPlace norm : {NormPlace::kPre, NormPlace::kPost}) {
    for (const Sizes& s :
         {Sizes{.d_model = 7, .n_heads = 1, .norm = norm}, Sizes{.d_model = 9, .n_heads = 3, .norm = norm},
          Sizes{.d_model = 1, .n_heads = 1, .d_ff = 1, .norm = norm}, Sizes{.d_ff = 0, .norm = norm},
          Sizes{.n_layers = 1, .norm = norm}, Sizes{.n_layers = 3, .norm = norm}}) {
      Encoder encoder = make(s);
      for (const auto& [batch, length] : {std::pair{1, 1}, {1, 4}, {3, 1}, {2, 5}}) {
        HeadProbe probe;
        const Tensor x = normal({batch, length, s.d_model}, 1);
        const Tensor y = encoder->forward(x, seen({}, &probe));
        ASSERT_THAT(y.sizes(), testing::ElementsAre(batch, length, s.d_model));
        EXPECT_TRUE(test::all_finite(y));
        ASSERT_EQ(static_cast<std::int64_t>(probe.patterns.size()), s.n_layers);
        for (const Tensor& p : probe.patterns)
          ASSERT_THAT(p.sizes(), testing::ElementsAre(batch, s.n_heads, length, length));
        EXPECT_TRUE(close(encoder->forward(x.narrow(0, 0, 1)),
                          y.narrow(0, 0, 1)));  // examples know nothing of each other
      }
    }
  }
  EXPECT_THROW(make(Sizes{})->forward(normal({2, 4, 5}, 1)), ShapeError);
}

TEST(Encoder, without_positions_is_permutation_equivariant) {
  Encoder encoder = make(Sizes{});
  const Tensor x = normal({2, 5, 6}, 1), order = torch::tensor({2, 4, 0, 3, 1});
  EXPECT_TRUE(close(encoder->forward(x.index_select(1, order)), encoder->forward(x).index_select(1, order)));
}

TEST(Encoder, every_parameter_learns_and_the_gradient_is_the_numeric_one) {
  for (const NormPlace norm : {NormPlace::kPre, NormPlace::kPost}) {
    Encoder encoder = make({.norm = norm});
    const Tensor x = normal({1, 3, 6}, 1), grad_y = normal({1, 3, 6}, 5);
    const auto f = [&](const Tensor& t) {
      return (encoder->forward(t, seen({Visibility::kCausal, {}})) * grad_y).sum();
    };
    // LayerNorm's fifth derivative is large: 1e-7 leaves room for the formula's own error.
    EXPECT_TRUE(close(test::analytic_gradient(f, x), test::numeric_gradient(f, x), 1e-7));
    f(x).backward();
    for (const auto& p : encoder->named_parameters()) {
      ASSERT_TRUE(p.value().grad().defined()) << p.key();
      EXPECT_GT(p.value().grad().abs().max().item<double>(), 0.0) << p.key();
    }
  }
}

// ---- looking and switching off

TEST(HeadProbe, changes_no_bit_of_the_output_in_training_and_evaluation) {
  for (const double p : {0.0, 0.3}) {
    Encoder encoder = make({.dropout = p});
    const Tensor x = normal({2, 5, 6}, 1);
    for (const bool training : {true, false}) {
      encoder->train(training);
      const auto run = [&](HeadProbe* probe) {
        DropoutStream stream(5, 2);
        return encoder->forward(x, Context{{}, {}, &stream, probe});
      };
      const Tensor plain = run(nullptr);
      HeadProbe capture, open = gates(torch::ones({2, 2}, torch::kFloat64)), quiet;
      quiet.keep = Keep::kOutput;
      EXPECT_TRUE(identical(run(&capture), plain));
      EXPECT_TRUE(identical(run(&open), plain));
      EXPECT_TRUE(identical(run(&quiet), plain));
      EXPECT_EQ(capture.patterns.size(), 2U);
      EXPECT_TRUE(quiet.patterns.empty());
      EXPECT_TRUE(identical(open.patterns[1], capture.patterns[1]));
      EXPECT_TRUE(identical(run(nullptr), plain));
    }
  }
}

TEST(HeadProbe, G03_patterns_of_a_training_model_are_those_before_dropout) {
  Encoder encoder = make({.dropout = 0.5});
  encoder->train();
  HeadProbe probe;
  encoder->forward(normal({2, 6, 6}, 1), seen({}, &probe));
  for (const Tensor& pattern : probe.patterns) {
    EXPECT_TRUE(close(pattern.sum(-1), torch::ones({2, 2, 6}, torch::kFloat64)));
    EXPECT_TRUE((pattern > 0).all().item<bool>());
  }
}

TEST(HeadProbe, G22_gates_reach_their_own_layer_and_head) {
  Encoder encoder = make(Sizes{.n_layers = 2});
  const Tensor x = normal({2, 5, 6}, 1), plain = encoder->forward(x);
  for (std::int64_t layer = 0; layer < 2; ++layer) {
    for (std::int64_t head = 0; head < 2; ++head) {
      HeadProbe probe = gates(torch::ones({2, 2}, torch::kFloat64));
      probe.gates_LH[layer][head] = 0.0;
      const Tensor gated = encoder->forward(x, seen({}, &probe));
      // The same by silencing the head's rows of the value projection.
      Encoder silent = make(Sizes{.n_layers = 2});
      const torch::NoGradGuard no_grad;
      const auto parameters = silent->named_parameters();
      const std::string prefix = "layers." + std::to_string(layer) + ".attention.in_proj_";
      parameters[prefix + "weight"].narrow(0, 12 + 3 * head, 3).zero_();
      parameters[prefix + "bias"].narrow(0, 12 + 3 * head, 3).zero_();
      EXPECT_TRUE(close(gated, silent->forward(x)));
      EXPECT_FALSE(torch::equal(gated, plain));
    }
  }
  HeadProbe none = gates(torch::zeros({2, 2}, torch::kFloat64));
  EXPECT_TRUE(test::all_finite(encoder->forward(x, seen({}, &none))));
  HeadProbe wrong = gates(torch::ones({3, 2}, torch::kFloat64));
  EXPECT_THROW(encoder->forward(x, seen({}, &wrong)), ShapeError);
}

// ---- dropout

TEST(HeadProbe, edits_are_told_their_layer_and_only_look_or_replace) {
  Encoder encoder = make(Sizes{});
  const Tensor x = normal({2, 5, 6}, 4);
  const Tensor plain = encoder->forward(x);
  std::vector<std::string> calls;
  HeadProbe probe;
  probe.keep = Keep::kOutput;
  probe.edit_pattern = [&](std::int64_t layer, const Tensor& pattern) {
    calls.push_back("pattern " + std::to_string(layer));
    return pattern;
  };
  probe.edit_heads = [&](std::int64_t layer, const Tensor& heads) {
    calls.push_back("heads " + std::to_string(layer));
    return heads;
  };
  EXPECT_TRUE(close(encoder->forward(x, seen({}, &probe)), plain));
  EXPECT_EQ(calls, (std::vector<std::string>{"pattern 0", "heads 0", "pattern 1", "heads 1"}));
  // The second layer's first head off, by an edit and by a gate.
  probe.edit_pattern = {};
  probe.edit_heads = [](std::int64_t layer, const Tensor& heads) {
    return layer == 1 ? heads.index_fill(1, torch::tensor({0}), 0.0) : heads;
  };
  HeadProbe gate = gates(test::doubles({1, 1, 0, 1}, {2, 2}));
  const Tensor edited = encoder->forward(x, seen({}, &probe));
  EXPECT_TRUE(identical(edited, encoder->forward(x, seen({}, &gate))));
  EXPECT_FALSE(close(edited, plain));
}

TEST(Encoder, head_kernels_go_to_their_own_layer_and_head) {
  EncoderOptions o = options(Sizes{});
  const Encoder plain = make(o);
  o.head_kernels = {{1, 0, {.family = KernelFamily::kKey, .key = 2}}};
  Encoder replaced = make(o);
  HeadProbe probe;
  replaced->forward(normal({2, 5, 6}, 4), seen({}, &probe));
  Tensor on_key_2 = torch::zeros({2, 5, 5}, torch::kFloat64);
  on_key_2.select(2, 2).fill_(1.0);
  for (const auto& [layer, head] : {std::pair(0, 0), {0, 1}, {1, 0}, {1, 1}}) {
    EXPECT_EQ(torch::equal(probe.patterns[static_cast<std::size_t>(layer)].select(1, head), on_key_2),
              layer == 1 && head == 0);
  }
  o.head_kernels = {{2, 0, {}}};
  EXPECT_THROW(make(o), ConfigError);
  o.head_kernels = {{1, 0, {}}, {1, 0, {}}};
  EXPECT_THROW(make(o), ConfigError);
}

TEST(Encoder, dropout_decisions_do_not_depend_on_the_share_of_the_batch) {
  Encoder encoder = make({.dropout = 0.3});
  encoder->train();
  const Tensor x = normal({4, 5, 6}, 1);
  const auto run = [&](std::int64_t first, std::int64_t count) {
    DropoutStream stream(9, 4, first);
    return encoder->forward(x.narrow(0, first, count), Context{{}, {}, &stream, nullptr});
  };
  const Tensor whole = run(0, 4);
  EXPECT_TRUE(close(run(0, 2), whole.narrow(0, 0, 2)));
  EXPECT_TRUE(close(run(2, 2), whole.narrow(0, 2, 2)));
  EXPECT_TRUE(close(run(3, 1), whole.narrow(0, 3, 1)));
  encoder->eval();
  EXPECT_FALSE(torch::equal(run(0, 4), whole));
  EXPECT_TRUE(identical(run(0, 4), make(Sizes{})->forward(x)));
}

}  // namespace
}  // namespace headtorch::nn
