#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/nn/attention_cases.hpp"
#include "tests/support/attention_inputs.hpp"
#include "tests/support/tensors.hpp"

// Every score with every position that acts inside attention and that it may have.

namespace headtorch::nn {

struct Combination {
  Score score = Score::kDot;
  Position position = Position::kNone;

  std::string name() const {
    return std::string(kScoreNames[static_cast<std::size_t>(score)]) + ", " +
           std::string(kPositionNames[static_cast<std::size_t>(position)]);
  }
};

inline constexpr Position kInside[] = {Position::kRelative, Position::kAlibi, Position::kRope,
                                       Position::kLearnedWindow};

inline bool may_have(Score score, Position position) {
  if (position == Position::kNone) return true;
  return score <= Score::kLinear && (score != Score::kLinear || position == Position::kRope);
}

inline std::vector<Combination> combinations() {
  std::vector<Combination> all;
  for (const Score score : kScores) {
    all.push_back({score, Position::kNone});
    for (const Position position : kInside) {
      if (may_have(score, position)) all.push_back({score, position});
    }
  }
  return all;
}

/// Scores that know two sequences apart: all that cross-attention may have.
inline std::vector<Score> cross_scores() {
  std::vector<Score> scores;
  for (const Score score : kScores) {
    if (score != Score::kSelf && score != Score::kSameToken) scores.push_back(score);
  }
  return scores;
}

/// Biases and tables of positions start at 0, where a mistake about them would not show.
template <typename Module>
Module lively(Module module) {
  const torch::NoGradGuard no_grad;
  torch::manual_seed(17);
  for (torch::Tensor& parameter : module->parameters()) {
    if (parameter.eq(0.0).all().template item<bool>()) parameter.normal_(0.0, 0.3);
  }
  return module;
}

inline MultiHeadAttention make(const Combination& of, const test::Sizes& sizes, double dropout = 0.0) {
  ScoreOptions options;
  options.score = of.score;
  options.position = of.position;
  options.bandwidth = {1.5};
  options.kernel_offset = {-1.0};
  options.attention_dropout = dropout;
  options.score_dropout = dropout;
  return lively(make(sizes.heads * sizes.features, sizes.heads, options));
}

/// As test::masks, and some keys hidden that are neither the first nor the last.
inline std::vector<test::NamedMask> every_mask(const test::Sizes& sizes) {
  std::vector<test::NamedMask> all = test::masks(sizes);
  const Tensor hidden = torch::arange(sizes.keys).view({1, 1, 1, -1}) != sizes.keys / 2;
  all.push_back({"hidden keys", {Visibility::kAll, hidden}});
  all.push_back({"causal, hidden keys", {Visibility::kCausal, hidden}});
  return all;
}

inline Tensor some_tokens(std::int64_t batch, std::int64_t length) {
  return (torch::arange(batch * length) * 5 % 7 % 3).view({batch, length});
}

/// The same call by the path that is the reference: an edit that changes nothing rules the others out.
inline AttentionCall explicitly(AttentionCall call) {
  call.edit_pattern = [](const Tensor& pattern) { return pattern; };
  return call;
}

/// Gradients of the sum of y grad_y with respect to x and all parameters; zeros where there is none.
inline std::vector<Tensor> gradients(MultiHeadAttention& module, const Tensor& y, const Tensor& x,
                                     const Tensor& grad_y) {
  std::vector<Tensor> of = module->parameters();
  of.push_back(x);
  std::vector<Tensor> found = torch::autograd::grad({y}, of, {grad_y}, /*retain_graph=*/false,
                                                    /*create_graph=*/false, /*allow_unused=*/true);
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (!found[i].defined()) found[i] = torch::zeros_like(of[i]);
  }
  return found;
}

}  // namespace headtorch::nn
