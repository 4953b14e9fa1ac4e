#pragma once

#include <torch/torch.h>

#include <string>
#include <vector>

#include "models/mini_transformer.hpp"
#include "tests/support/tensors.hpp"

// Small models that generate: block 16, dropout in their options, evaluation mode.

namespace headtorch::models {

inline constexpr std::int64_t kSymbols = 11, kBlock = 16, kSourceSymbols = 5, kSourceLength = 7;

/// A model and its name for messages.
struct Case {
  std::string name;
  ModelOptions options = {};
};

inline Case small_case(Family family, nn::Score score = nn::Score::kDot,
                       nn::Position position = nn::Position::kLearned) {
  Case one;
  one.name = std::string(nn::kScoreNames[static_cast<std::size_t>(score)]) + ", " +
             std::string(nn::kPositionNames[static_cast<std::size_t>(position)]);
  one.options.family = family;
  one.options.d_model = 12;
  one.options.d_ff = 20;
  one.options.dropout = 0.4;
  one.options.attention.attention_dropout = 0.4;
  one.options.attention.score_dropout = 0.2;
  one.options.attention.score = score;
  one.options.position = position;
  return one;
}

/// Every score with every position that such a model may have.
inline std::vector<Case> all_cases(Family family) {
  using nn::Position;
  using nn::Score;
  std::vector<Case> cases;
  for (std::size_t s = 0; s < std::size(nn::kScoreNames); ++s) {
    const auto score = static_cast<Score>(s);
    if (family == Family::kEncoderDecoder && nn::is_of_one_sequence(score)) continue;
    if (score == Score::kFeatureGaussian) continue;  // of features, which these models have not
    const bool projects = score <= Score::kLinear;
    for (std::size_t p = 0; p < std::size(nn::kPositionNames); ++p) {
      const auto position = static_cast<Position>(p);
      const bool turns = position == Position::kRope, adds = position > Position::kLearned && !turns;
      if ((turns && !projects) || (adds && (!projects || score == Score::kLinear))) continue;
      cases.push_back(small_case(family, score, position));
    }
  }
  return cases;
}

inline ModelSizes small_sizes(Family family) {
  ModelSizes sizes;
  sizes.n_symbols = sizes.n_classes = kSymbols;
  sizes.max_len = kBlock;
  if (family == Family::kEncoderDecoder) sizes.source = {kSourceSymbols, kSourceLength};
  return sizes;
}

inline MiniTransformer make_model(const ModelOptions& options, const ModelSizes& sizes,
                                  torch::Dtype dtype = torch::kFloat64) {
  torch::manual_seed(0);
  MiniTransformer model(options, sizes);
  const torch::NoGradGuard no_grad;
  for (torch::Tensor& parameter : model->parameters()) {
    // Biases and tables of positions start at 0, where a mistake about them would not show.
    if (parameter.eq(0.0).all().item<bool>()) parameter.normal_(0.0, 0.3);
  }
  model->to(dtype);
  model->eval();
  return model;
}

inline MiniTransformer make_model(const ModelOptions& options, torch::Dtype dtype = torch::kFloat64) {
  return make_model(options, small_sizes(options.family), dtype);
}

inline torch::Tensor some_tokens(std::int64_t batch, std::int64_t length, std::uint64_t seed = 1) {
  torch::manual_seed(seed);
  return torch::randint(kSymbols, {batch, length}, torch::kLong);
}

/// Two sources, the second padded; undefined for models without.
inline Sequence some_source(Family family) {
  if (family != Family::kEncoderDecoder) return {};
  torch::manual_seed(5);
  const torch::Tensor tokens = torch::randint(1, kSourceSymbols, {2, kSourceLength}, torch::kLong);
  tokens[1].narrow(0, 4, 3).fill_(0);
  return {tokens, {}, torch::tensor({kSourceLength, std::int64_t{4}})};
}

}  // namespace headtorch::models
