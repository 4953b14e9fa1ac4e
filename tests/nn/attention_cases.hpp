#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "src/attention/masks.hpp"
#include "src/nn/multi_head_attention.hpp"
#include "tests/support/modules.hpp"

// Attention modules, masks and calls that several tests of attention share.

namespace headtorch::nn {

using attention::Mask;
using attention::Visibility;
using torch::Tensor;

inline constexpr Score kScores[] = {Score::kDot,
                                    Score::kGaussian,
                                    Score::kCosine,
                                    Score::kAdditive,
                                    Score::kLinear,
                                    Score::kUniform,
                                    Score::kSelf,
                                    Score::kFixedGaussian,
                                    Score::kFixedExponential,
                                    Score::kSameToken,
                                    Score::kUntrainedGaussian,
                                    Score::kRawDot};

inline MultiHeadAttention make(std::int64_t d_model, std::int64_t n_heads, const ScoreOptions& score = {}) {
  torch::manual_seed(2);
  MultiHeadAttentionOptions options;
  options.d_model = d_model;
  options.n_heads = n_heads;
  options.attention = score;
  MultiHeadAttention module(options);
  module->to(torch::kFloat64);
  return module;
}

inline ScoreOptions score_options(Score score) {
  ScoreOptions options;
  options.score = score;
  options.bandwidth = {1.5, 2.5};
  options.kernel_offset = {-1.0};
  return options;
}

// Whether a call that keeps nothing takes LibTorch's fused attention.
inline bool takes_fused_path(const MultiHeadAttentionImpl& module) {
  return module.path(attention::Mask{}, 2, 5, 5) == Path::kFused;
}

// Whether it takes the path that is the reference.
inline bool writes_weights_out(const MultiHeadAttentionImpl& module) {
  return module.path(attention::Mask{}, 2, 5, 5) == Path::kExplicit;
}

// Identity projections: queries, keys and values are the input, the output is the merged heads.
inline void make_transparent(MultiHeadAttention& module, std::int64_t d_model) {
  const Tensor eye = torch::eye(d_model, torch::kFloat64);
  const std::int64_t parts = module->named_parameters()["in_proj_weight"].size(0) / d_model;
  test::set(*module, "in_proj_weight", eye.repeat({parts, 1}));
  test::set(*module, "out_proj.weight", eye);
}

inline std::vector<Mask> masks(std::int64_t length) {
  const Tensor padding = attention::padding_mask(torch::tensor({length, length - 2}), length);
  return {{}, {Visibility::kCausal, {}}, {Visibility::kAll, padding}, {Visibility::kCausal, padding}};
}

inline const Tensor& tokens() {
  static const Tensor t = torch::tensor({{3, 1, 3, 2, 1}, {0, 0, 4, 0, 4}});
  return t;
}

inline AttentionCall masked(const Mask& mask, Keep keep = Keep::kOutput, const Tensor& of_tokens = tokens()) {
  AttentionCall call;
  call.mask = mask;
  call.keep = keep;
  call.tokens_BS = of_tokens;
  return call;
}

inline AttentionCall gated(const Tensor& gates_H) {
  AttentionCall call;
  call.gates_H = gates_H;
  return call;
}

}  // namespace headtorch::nn
