#include "models/mini_transformer.hpp"

#include <gmock/gmock.h>

#include "src/core/error.hpp"
#include "tests/support/modules.hpp"
#include "tests/support/tensors.hpp"

namespace headtorch::models {
namespace {

using attention::Visibility;
using nn::Position;
using nn::Score;
using test::close;
using test::identical;
using torch::Tensor;

constexpr Score kScores[] = {Score::kDot,
                             Score::kUniform,
                             Score::kSelf,
                             Score::kFixedGaussian,
                             Score::kFixedExponential,
                             Score::kSameToken,
                             Score::kUntrainedGaussian,
                             Score::kRawDot};
constexpr std::int64_t kSymbols = 11, kClasses = 7, kMaxLen = 16;

ModelOptions small(Family family = Family::kEncoder, Score score = Score::kDot) {
  ModelOptions options;
  options.family = family;
  options.d_model = 12;
  options.d_ff = 20;
  options.attention.score = score;
  return options;
}

MiniTransformer make(const ModelOptions& options) {
  torch::manual_seed(3);
  MiniTransformer model(options, ModelSizes{kSymbols, kClasses, kMaxLen});
  model->to(torch::kFloat64);
  model->eval();
  return model;
}

Tensor tokens(std::int64_t batch, std::int64_t length, std::uint64_t seed = 1) {
  torch::manual_seed(seed);
  return torch::randint(kSymbols, {batch, length}, torch::kLong);
}

TEST(MiniTransformer, the_reference_preset_has_its_published_size) {
  ModelOptions options;
  options.n_heads = 4;
  MiniTransformer model(options, ModelSizes{64, 64, 32});
  EXPECT_EQ(test::parameter_count(*model), 110400);
}

TEST(MiniTransformer, gives_logits_at_every_position) {
  for (const auto& [batch, length] : {std::pair{1, 1}, {3, 1}, {2, 16}}) {
    const Tensor y = make(small())->forward(tokens(batch, length));
    EXPECT_THAT(y.sizes(), testing::ElementsAre(batch, length, kClasses));
    EXPECT_TRUE(test::all_finite(y));
  }
  EXPECT_THROW(make(small())->forward(tokens(1, 3)[0]), ShapeError);
}

TEST(MiniTransformer, G12_an_input_longer_than_the_positions_is_refused_naming_both) {
  EXPECT_THAT(
      [] { make(small())->forward(tokens(1, 20)); },
      testing::ThrowsMessage<Error>(testing::AllOf(testing::HasSubstr("20"), testing::HasSubstr("16"))));
  for (const Position position : {Position::kSinusoidal, Position::kNone}) {
    ModelOptions options = small();
    options.position = position;
    EXPECT_EQ(make(options)->forward(tokens(1, 20)).size(1), 20);
  }
}

TEST(MiniTransformer, G04_a_causal_model_sees_no_later_token) {
  const Tensor a = tokens(2, 8);
  Tensor b = a.clone();
  b.narrow(1, 6, 2).add_(1).remainder_(kSymbols);
  const attention::Mask padding{Visibility::kAll, attention::padding_mask(torch::tensor({8, 4}), 8)};
  for (const Score score : kScores) {
    for (const std::int64_t n_layers : {1, 2, 3}) {
      ModelOptions options = small(Family::kCausal, score);
      options.n_layers = n_layers;
      options.attention.attention_dropout = 0.1;
      MiniTransformer model = make(options);
      for (const bool training : {false, true}) {
        model->train(training);
        for (const attention::Mask& mask : {attention::Mask{}, padding}) {
          for (const bool capture : {false, true}) {
            const auto run = [&](const Tensor& input) {
              nn::DropoutStream stream(2, 1);
              nn::HeadProbe probe;
              return model->forward(input, {mask, {}, &stream, capture ? &probe : nullptr});
            };
            EXPECT_TRUE(identical(run(b).narrow(1, 0, 6), run(a).narrow(1, 0, 6))) << static_cast<int>(score);
            EXPECT_FALSE(torch::equal(run(b)[0][7], run(a)[0][7]));
          }
        }
      }
    }
  }
}

TEST(MiniTransformer, an_encoder_does_look_at_later_tokens) {
  const Tensor a = tokens(1, 8);
  Tensor b = a.clone();
  b[0][7] = (a[0][7] + 1) % kSymbols;
  EXPECT_FALSE(torch::equal(make(small())->forward(b)[0][0], make(small())->forward(a)[0][0]));
  const auto self = [](const Tensor& t) {
    return make(small(Family::kEncoder, Score::kSelf))->forward(t).narrow(1, 0, 7);
  };
  EXPECT_TRUE(identical(self(b), self(a)));
}

TEST(MiniTransformer, G08_without_positions_order_means_nothing) {
  ModelOptions options = small();
  options.position = Position::kNone;
  const Tensor chases = torch::tensor({{1, 2, 3}}), order = torch::tensor({2, 1, 0});
  const Tensor reversed = chases.index_select(1, order);
  EXPECT_TRUE(close(make(options)->forward(reversed), make(options)->forward(chases).index_select(1, order)));
  for (const Position position : {Position::kSinusoidal, Position::kLearned}) {
    options.position = position;
    EXPECT_FALSE(
        close(make(options)->forward(reversed), make(options)->forward(chases).index_select(1, order), 1e-3));
  }
}

TEST(MiniTransformer, G06_padding_changes_nothing) {
  const Tensor t = tokens(2, 6);
  for (const Family family : {Family::kEncoder, Family::kCausal}) {
    for (const Score score : kScores) {
      MiniTransformer model = make(small(family, score));
      nn::Context padded;
      padded.mask.visible = attention::padding_mask(torch::tensor({3, 2}), 6);
      const Tensor y = model->forward(t, padded);
      ASSERT_THAT(y.sizes(), testing::ElementsAre(2, 6, kClasses));
      EXPECT_TRUE(test::all_finite(y));
      for (const auto& [row, length] : {std::pair{0, 3}, {1, 2}}) {
        const Tensor alone = model->forward(t.narrow(0, row, 1).narrow(1, 0, length));
        EXPECT_TRUE(close(y.narrow(0, row, 1).narrow(1, 0, length), alone)) << static_cast<int>(score);
      }
    }
  }
}

TEST(MiniTransformer, a_fixed_kernel_replaces_queries_and_keys_and_nothing_else) {
  const auto shapes = [](const MiniTransformer& model) {
    std::map<std::string, std::vector<std::int64_t>> result;
    for (const auto& p : model->named_parameters()) result[p.key()] = p.value().sizes().vec();
    return result;
  };
  const auto learned = shapes(make(small()));
  for (const Score score : kScores) {
    if (score == Score::kDot) continue;
    auto fixed = shapes(make(small(Family::kEncoder, score)));
    for (const std::string layer : {"0", "1"}) {
      const std::string name = "encoder.layers." + layer + ".attention.in_proj_";
      EXPECT_THAT(fixed[name + "weight"], testing::ElementsAre(12, 12));
      fixed[name + "weight"] = {36, 12};
      fixed[name + "bias"] = {36};
    }
    EXPECT_EQ(fixed, learned);
  }
}

TEST(MiniTransformer, rows_are_queries_and_columns_are_keys) {
  ModelOptions options = small(Family::kEncoder, Score::kFixedGaussian);
  options.attention.bandwidth = {0.3};
  options.attention.kernel_offset = {-3.0};  // the answer of `copy` stands three places back
  nn::HeadProbe probe;
  make(options)->forward(tokens(1, 8), {{}, {}, nullptr, &probe});
  ASSERT_EQ(probe.patterns.size(), 2U);
  EXPECT_TRUE(identical(probe.patterns[0][0][1].argmax(-1), torch::tensor({0, 0, 0, 0, 1, 2, 3, 4})));
}

TEST(MiniTransformer, every_parameter_learns) {
  for (const Family family : {Family::kEncoder, Family::kCausal}) {
    for (const Score score : kScores) {
      ModelOptions options = small(family, score);
      options.position_norm = true;
      MiniTransformer model = make(options);
      model->train();
      model->forward(tokens(4, kMaxLen)).square().sum().backward();
      for (const auto& p : model->named_parameters()) {
        ASSERT_TRUE(p.value().grad().defined()) << p.key();
        EXPECT_TRUE(test::all_finite(p.value().grad())) << p.key();
        EXPECT_GT(p.value().grad().abs().max().item<double>(), 0.0) << p.key();
      }
    }
  }
}

TEST(MiniTransformer, G41_the_seed_decides_the_weights) {
  const auto weights = [](std::uint64_t seed) {
    torch::manual_seed(seed);
    return MiniTransformer(small(), ModelSizes{kSymbols, kClasses, kMaxLen})->parameters();
  };
  const auto a = weights(7), b = weights(7), c = weights(8);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(identical(b[i], a[i]));
  EXPECT_FALSE(torch::equal(c[0], a[0]));
}

TEST(MiniTransformer, G42_sizes_that_do_not_fit_are_refused_by_name) {
  ModelOptions options = small();
  options.d_model = 30;
  options.n_heads = 4;
  EXPECT_THAT([&] { make(options); }, testing::ThrowsMessage<ConfigError>(
                                          testing::AllOf(testing::HasSubstr("30"), testing::HasSubstr("4"))));
  for (const ModelSizes& sizes : {ModelSizes{0, 1, 1}, ModelSizes{1, 0, 1}, ModelSizes{1, 1, 0}}) {
    EXPECT_THROW(MiniTransformer(small(), sizes), ConfigError);
  }
}

TEST(MiniTransformer, feature_gaussian_compares_the_features_that_the_task_names) {
  ModelOptions options = small(Family::kEncoder, Score::kFeatureGaussian);
  options.position = Position::kNone;
  EXPECT_THROW(MiniTransformer(options, ModelSizes{kSymbols, kClasses, 16, 3}), ConfigError);
  ModelSizes sizes{kSymbols, kClasses, 16, 3};
  sizes.n_compared = 2;
  sizes.hidden_tokens = {1};
  torch::manual_seed(3);
  MiniTransformer model(options, sizes);
  model->eval();
  const Tensor which = torch::tensor({{0, 0, 0, 1, 1}});  // the last two are asked: no key
  const auto pattern = [&](const Tensor& features) {
    nn::HeadProbe probe;
    nn::Context context;
    context.probe = &probe;
    model->forward(ModelInput(Sequence{which, features}), context);
    return probe.patterns.back();
  };
  const Tensor features = torch::randn({1, 5, 3});
  Tensor other_y = features.clone();
  other_y.select(-1, 2).add_(1.0);
  EXPECT_TRUE(identical(pattern(other_y), pattern(features)));
  EXPECT_TRUE((pattern(features).narrow(-1, 3, 2) == 0).all().item<bool>());
  Tensor other_x = features.clone();
  other_x.select(-1, 1).add_(torch::arange(5.0));
  EXPECT_FALSE(torch::equal(pattern(other_x), pattern(features)));
}

}  // namespace
}  // namespace headtorch::models
