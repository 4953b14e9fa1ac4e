#pragma once

#include <cstdint>
#include <vector>

#include "src/nn/options.hpp"

namespace headtorch::models {

enum class Family {
  kEncoder,         ///< every token sees all
  kCausal,          ///< every token sees those before it and itself
  kEncoderDecoder,  ///< a causal decoder that also sees an encoder's output
};

/// Whether the output layer has a weight of its own, or the embedding's (Press and Wolf 2017,
/// arXiv:1608.05859).
enum class OutputWeight { kOwn, kEmbedding };

/// The `[model]` section: everything that decides a MiniTransformer but the task's sizes.
struct ModelOptions {
  Family family = Family::kEncoder;
  std::int64_t n_layers = 2;  ///< of an encoder-decoder: in each of the two
  std::int64_t n_heads = 2;
  std::int64_t d_model = 64;
  std::int64_t d_ff = 256;  ///< width of the feed-forward; 0 leaves it out
  double dropout = 0.1;     ///< on embeddings, residual branches and inside the feed-forward
  nn::Position position = nn::Position::kLearned;
  bool position_norm = false;  ///< LayerNorm after embedding and position are summed
  nn::NormPlace norm = nn::NormPlace::kPre;
  nn::NormKind norm_kind = nn::NormKind::kLayer;
  nn::Activation activation = nn::Activation::kGelu;
  nn::Init init = nn::Init::kXavier;
  double qk_gain = 1.0;             ///< factor on the initial query and key weights
  nn::ScoreOptions attention = {};  ///< its position is the model's
  std::int64_t window = 0;          ///< self-attention sees keys at most this far off; 0: every distance
  OutputWeight output_weight = OutputWeight::kOwn;
  /// Heads replaced by fixed kernels, under any score. Parameters stay the same, so checkpoints fit either
  /// way.
  std::vector<nn::HeadKernelPlace> head_kernels = {};
};

/// Matrices of attention a head has a share in: self-attention of each layer; in an encoder-decoder that of
/// the encoder's layers, then the decoder's, then cross-attention.
struct AttentionPlace {
  Stack stack = Stack::kSelf;
  std::int64_t layer = 0;  ///< within the stack
};
std::int64_t n_attention_places(const ModelOptions& options);
AttentionPlace attention_place(const ModelOptions& options, std::int64_t place);
/// The inverse.  @throws ConfigError for a layer or stack that the model has not.
std::int64_t place_index(const ModelOptions& options, Stack stack, std::int64_t layer);

/// What the task adds. A part is present when its length is not 0.
struct SequenceSizes {
  std::int64_t n_symbols = 0;   ///< input vocabulary
  std::int64_t max_len = 0;     ///< longest input
  std::int64_t n_features = 0;  ///< numbers beside each token
};
struct ModelSizes {
  std::int64_t n_symbols = 0;  ///< input vocabulary, of an encoder-decoder the target's
  std::int64_t n_classes = 0;  ///< output vocabulary
  std::int64_t max_len = 0;    ///< longest input
  std::int64_t n_features = 0;
  SequenceSizes source = {};  ///< of an encoder-decoder
  std::vector<std::int64_t> hidden_tokens =
      {};                       ///< of the encoder's input (of all, where there is one sequence):
                                ///< never seen as keys of self-attention or of a decoder
  std::int64_t n_compared = 0;  ///< the first of n_features, which Score::kFeatureGaussian compares
};

}  // namespace headtorch::models
