#pragma once

#include <cstdint>
#include <vector>

#include "src/nn/options.hpp"

namespace headtorch::models {

enum class Family { kEncoder, kCausal };

/// The `[model]` section: everything that decides a MiniTransformer but the task's sizes.
struct ModelOptions {
  Family family = Family::kEncoder;
  std::int64_t n_layers = 2;
  std::int64_t n_heads = 2;
  std::int64_t d_model = 64;
  std::int64_t d_ff = 256;  ///< width of the feed-forward; 0 leaves it out
  double dropout = 0.1;     ///< on embeddings, residual branches and inside the feed-forward
  nn::Position position = nn::Position::kLearned;
  bool position_norm = false;  ///< LayerNorm after embedding and position are summed
  nn::NormPlace norm = nn::NormPlace::kPre;
  nn::Activation activation = nn::Activation::kGelu;
  nn::Init init = nn::Init::kXavier;
  double qk_gain = 1.0;  ///< factor on the initial query and key weights
  nn::ScoreOptions attention = {};
  /// Heads replaced by fixed kernels, under any score. Parameters stay the same, so checkpoints fit either
  /// way.
  std::vector<nn::HeadKernelPlace> head_kernels = {};
};

/// What the task adds.
struct ModelSizes {
  std::int64_t n_symbols = 0;  ///< input vocabulary
  std::int64_t n_classes = 0;  ///< output vocabulary
  std::int64_t max_len = 0;    ///< longest input
};

}  // namespace headtorch::models
