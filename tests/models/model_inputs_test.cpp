// What enters a model besides tokens, and what order means to it.

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tests/models/small_models.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/tensors.hpp"

namespace headtorch::models {
namespace {

using nn::Position;
using test::close;
using test::fails;
using test::identical;
using testing::AllOf;
using testing::HasSubstr;
using torch::Tensor;

constexpr std::int64_t kFeatures = 3, kLength = 5;

ModelSizes with_features(Family family) {
  ModelSizes sizes = small_sizes(family);
  (family == Family::kEncoderDecoder ? sizes.source.n_features : sizes.n_features) = kFeatures;
  return sizes;
}

/// Features stand beside the source where there is one.
ModelInput input_of(Family family, const Tensor& features) {
  ModelInput input{Sequence{some_tokens(2, kLength)}, some_source(family)};
  (family == Family::kEncoderDecoder ? input.source : input.target).features = features;
  return input;
}

std::int64_t positions(Family family) { return family == Family::kEncoderDecoder ? kSourceLength : kLength; }

constexpr Family kFamilies[] = {Family::kEncoder, Family::kCausal, Family::kEncoderDecoder};

TEST(Features, enter_beside_the_tokens_and_their_gradient_is_the_numeric_one) {
  for (const Family family : kFamilies) {
    MiniTransformer model = make_model(small_case(family).options, with_features(family));
    const Tensor features = test::normal({2, positions(family), kFeatures}, 3);
    const Tensor grad_y = test::normal({2, kLength, kSymbols}, 4);
    const auto f = [&](const Tensor& x) { return (model->forward(input_of(family, x)) * grad_y).sum(); };
    const Tensor analytic = test::analytic_gradient(f, features);
    EXPECT_TRUE(close(analytic, test::numeric_gradient(f, features), 1e-5));  // norms' higher derivatives
    EXPECT_GT(analytic[0].abs().amin().item<double>(), 0.0);
    if (family == Family::kEncoderDecoder) {
      EXPECT_EQ(analytic[1].narrow(0, 4, 3).abs().max().item<double>(), 0.0) << "padding";
    }
  }
}

TEST(Features, are_a_linear_map_added_to_the_embedding) {
  MiniTransformer model = make_model(small_case(Family::kEncoder).options, with_features(Family::kEncoder));
  const Tensor features = test::normal({2, kLength, kFeatures}, 3);
  const torch::NoGradGuard no_grad;
  const auto embedded = [&](const Tensor& x) {
    nn::HeadProbe probe;
    Tensor stream;
    probe.edit_stream = [&](std::int64_t layer, const Tensor& at) { return layer < 0 ? stream = at : at; };
    nn::Context context;
    context.probe = &probe;
    model->forward(input_of(Family::kEncoder, x), context);
    return stream;
  };
  const auto parameters = model->named_parameters();
  const Tensor added = torch::linear(features, parameters["features.weight"]);
  EXPECT_TRUE(close(embedded(features) - embedded(torch::zeros_like(features)), added));
}

TEST(Features, that_are_missing_too_many_or_uncalled_for_are_refused) {
  for (const Family family : kFamilies) {
    MiniTransformer reads = make_model(small_case(family).options, with_features(family));
    MiniTransformer plain = make_model(small_case(family).options);
    const Tensor features = torch::ones({2, positions(family), kFeatures}, torch::kFloat64);
    const Tensor wide = torch::ones({2, positions(family), kFeatures + 1}, torch::kFloat64);
    EXPECT_TRUE(fails([&] { reads->forward(input_of(family, {})); }, ExitCode::kInternal,
                      AllOf(HasSubstr("without features"), HasSubstr("3"))));
    EXPECT_TRUE(fails([&] { reads->forward(input_of(family, wide)); }, ExitCode::kInternal,
                      AllOf(HasSubstr("4"), HasSubstr("3"))));
    EXPECT_TRUE(fails([&] { plain->forward(input_of(family, features)); }, ExitCode::kInternal,
                      HasSubstr("with features")));
    EXPECT_NO_THROW(reads->forward(input_of(family, features)));
  }
}

// ---- order

/// Words as tokens.
struct Sentence {
  Tensor tokens;
  std::vector<std::string> words;
};

Sentence sentence(const std::vector<std::string>& words) {
  const std::map<std::string, std::int64_t> dictionary = {{"cat", 1}, {"chases", 2}, {"dog", 3}};
  std::vector<std::int64_t> ids;
  for (const std::string& word : words) ids.push_back(dictionary.at(word));
  return {torch::tensor(ids).unsqueeze(0), words};
}

std::map<std::string, Tensor> by_word(MiniTransformer& model, const Sentence& of) {
  const torch::NoGradGuard no_grad;
  const Tensor y = model->forward(of.tokens);
  std::map<std::string, Tensor> logits;
  for (std::size_t i = 0; i < of.words.size(); ++i) logits[of.words[i]] = y[0][static_cast<std::int64_t>(i)];
  return logits;
}

// A11: without positions "cat chases dog" and "dog chases cat" are the same bag of words.
TEST(Order, of_three_words_means_nothing_without_positions_and_something_with_any) {
  const Sentence said = sentence({"cat", "chases", "dog"}), mirrored = sentence({"dog", "chases", "cat"});
  // Every word moves, and no distance stays: a symmetric kernel could not tell the mirrored ones apart.
  const Sentence turned = sentence({"chases", "dog", "cat"});
  for (const Case& one : all_cases(Family::kEncoder)) {
    using nn::Score;
    const Score score = one.options.attention.score;
    MiniTransformer model = make_model(one.options);
    auto before = by_word(model, said), after = by_word(model, turned), back = by_word(model, mirrored);
    const bool knows_order = one.options.position != Position::kNone || score == Score::kFixedGaussian ||
                             score == Score::kFixedExponential;
    for (const std::string word : {"cat", "chases", "dog"}) {
      SCOPED_TRACE(one.name + ", " + word);
      EXPECT_EQ(static_cast<bool>(close(after[word], before[word], 1e-9)), !knows_order);
      if (!knows_order) {
        EXPECT_TRUE(close(back[word], before[word]));
      }
    }
  }
}

TEST(Order, is_known_to_a_causal_model_without_positions) {
  // What stands before a word is what it sees (Haviv et al. 2022, arXiv:2203.16634).
  MiniTransformer model = make_model(small_case(Family::kCausal, nn::Score::kDot, Position::kNone).options);
  auto before = by_word(model, sentence({"cat", "chases", "dog"}));
  auto after = by_word(model, sentence({"dog", "chases", "cat"}));
  for (const std::string word : {"cat", "chases", "dog"})
    EXPECT_FALSE(close(after[word], before[word], 1e-6)) << word;
}

// ---- an output weight that is the embedding's

TEST(TiedEmbedding, G20_is_one_parameter_read_twice) {
  for (const Family family : kFamilies) {
    ModelOptions options = small_case(family).options;
    const MiniTransformer own = make_model(options);
    options.output_weight = OutputWeight::kEmbedding;
    MiniTransformer tied = make_model(options);
    const auto count = [](const MiniTransformer& model) {
      std::int64_t n = 0;
      for (const Tensor& p : model->parameters()) n += p.numel();
      return n;
    };
    EXPECT_EQ(count(tied), count(own) - kSymbols * options.d_model);
    EXPECT_FALSE(tied->named_parameters().contains("output.weight"));

    const ModelInput input{Sequence{some_tokens(2, kLength)}, some_source(family)};
    const std::int64_t last =
        family == Family::kEncoderDecoder ? 2 * options.n_layers - 1 : options.n_layers - 1;
    const auto parameters = tied->named_parameters();
    const Tensor embedding = parameters["embedding.weight"];
    nn::HeadProbe probe;
    Tensor stream;
    probe.edit_stream = [&](std::int64_t layer, const Tensor& at) {
      return layer == last ? stream = at : at;
    };
    nn::Context context;
    context.probe = &probe;
    const Tensor y = tied->forward(input, context);
    const std::string stack = family == Family::kEncoderDecoder ? "decoder" : "encoder";
    const Tensor normed = torch::layer_norm(stream, {options.d_model}, parameters[stack + ".norm.weight"],
                                            parameters[stack + ".norm.bias"]);
    EXPECT_TRUE(close(y, torch::linear(normed, embedding, parameters["output_bias"])));
  }
}

TEST(TiedEmbedding, G20_its_gradient_is_that_of_both_uses) {
  ModelOptions options = small_case(Family::kCausal).options;
  options.output_weight = OutputWeight::kEmbedding;
  MiniTransformer model = make_model(options);
  const Tensor tokens_BT = some_tokens(2, kLength), grad_y = test::normal({2, kLength, kSymbols}, 4);
  Tensor weight = model->named_parameters()["embedding.weight"];
  (model->forward(tokens_BT) * grad_y).sum().backward();
  const Tensor direction = test::normal(weight.sizes(), 5), start = weight.detach().clone();
  const double analytic = (weight.grad() * direction).sum().item<double>();
  const torch::NoGradGuard no_grad;
  const auto at = [&](double distance) {
    weight.copy_(start + distance * direction);
    return (model->forward(tokens_BT) * grad_y).sum().item<double>();
  };
  constexpr double kStep = 1e-4;
  const double numeric = (at(-2 * kStep) - 8 * at(-kStep) + 8 * at(kStep) - at(2 * kStep)) / (12 * kStep);
  EXPECT_NEAR(numeric, analytic, 1e-6 * std::max(1.0, std::abs(analytic)));
}

TEST(TiedEmbedding, needs_as_many_classes_as_symbols) {
  ModelOptions options = small_case(Family::kEncoder).options;
  options.output_weight = OutputWeight::kEmbedding;
  ModelSizes sizes = small_sizes(Family::kEncoder);
  sizes.n_classes = kSymbols - 1;
  EXPECT_TRUE(fails([&] { make_model(options, sizes); }, ExitCode::kBadConfig,
                    AllOf(HasSubstr("output_weight"), HasSubstr("11"), HasSubstr("10"))));
}

}  // namespace
}  // namespace headtorch::models
