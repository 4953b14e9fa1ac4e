#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include "models/options.hpp"
#include "src/nn/decoder.hpp"
#include "src/nn/encoder.hpp"
#include "src/nn/positional_encoding.hpp"

// Letters: B batch, T tokens, S source tokens, F features, D width, C classes.

namespace headtorch::models {

/// One sequence an example: tokens, and numbers beside them where the task has such.
struct Sequence {
  torch::Tensor tokens;          ///< [B, T] int64
  torch::Tensor features = {};   ///< [B, T, F] floating; undefined without features
  torch::Tensor lengths_B = {};  ///< int64: positions before the padding; undefined: no padding
};

/// What a model reads. Plain tokens are an input too.
struct ModelInput {
  ModelInput() = default;
  ModelInput(torch::Tensor tokens_BT)
      : target{std::move(tokens_BT)} {}  // NOLINT(google-explicit-constructor)
  ModelInput(Sequence own, Sequence from = {}) : target(std::move(own)), source(std::move(from)) {}

  Sequence target;  ///< the only sequence, but in an encoder-decoder
  Sequence source;  ///< what an encoder-decoder's encoder reads

  std::int64_t batch() const { return target.tokens.size(0); }
  ModelInput to(torch::Device device) const;
};

/// What generation remembers of the tokens so far.
struct DecodingCache {
  std::vector<nn::KeyValues> self, cross;
  torch::Tensor tokens_BS;      ///< so far
  torch::Tensor memory_BSD;     ///< of an encoder-decoder
  attention::Mask memory_mask;  ///< of the source
  std::int64_t length() const { return tokens_BS.defined() ? tokens_BS.size(1) : 0; }
  /// Forgets the tokens, and keeps what it knows of the source.
  void restart();
};

/// Token embedding (+ a linear map of features) + positions -> dropout -> encoder -> linear: a label's logits
/// at every position. Family kCausal lets position t look at 0..t only and is then a language model;
/// kEncoderDecoder has a causal decoder beside the encoder (Vaswani et al. 2017). With a fixed score
/// (nn::Score) in place of kDot it is the same model whose learned kernel is replaced and which is else
/// unchanged.
class MiniTransformerImpl : public torch::nn::Module {
 public:
  /// @throws ConfigError for sizes that do not fit each other.
  MiniTransformerImpl(const ModelOptions& options, const ModelSizes& sizes,
                      nn::Activations activations = nn::Activations::kKept);

  /// @param input tokens in 0..n_symbols-1, T <= max_len under learned positions.  @param context its mask:
  /// what may be seen of the (only, or target) sequence besides the model's rule; its probe counts places as
  /// attention_place does, and its edit_stream gets -1 and 0.. for the encoder, kDecoderInput and L.. for the
  /// decoder.  @returns [B, T, C].
  torch::Tensor forward(const ModelInput& input, const nn::Context& context = {});

  /// Logits of the next tokens, which stand behind those in the cache; for kCausal and kEncoderDecoder, in
  /// evaluation mode. The first call of an encoder-decoder reads `source`.  @returns [B, T, C].
  /// @throws ConfigError for other families and modes and for models that read features, ShapeError for
  /// another batch than the cache's. The cache is then as it was.
  torch::Tensor decode(const torch::Tensor& tokens_BT, DecodingCache& cache, const Sequence& source = {});

  /// Which keys the queries of a place may see: bool, broadcastable to [B, H, T, S]; never undefined.
  torch::Tensor visible(const ModelInput& input, std::int64_t place) const;

  nn::Encoder& encoder() { return encoder_; }
  nn::Decoder& decoder() { return decoder_; }
  /// The attention module of a place.
  nn::MultiHeadAttentionImpl& attention(std::int64_t place);
  const ModelOptions& options() const { return options_; }
  const ModelSizes& sizes() const { return sizes_; }

  static constexpr std::int64_t kDecoderInput = -2;

 private:
  torch::Tensor embed(const Sequence& sequence, bool is_source, std::int64_t first,
                      nn::DropoutStream* dropout);
  attention::Mask self_mask(const Sequence& sequence, bool is_target) const;
  attention::Mask memory_mask(const Sequence& source) const;
  torch::Tensor output(const torch::Tensor& x_BTD) const;
  torch::Tensor hidden_keys(const Sequence& sequence) const;
  void check(const Sequence& sequence, const SequenceSizes& sizes, std::string_view name) const;

  ModelOptions options_;
  ModelSizes sizes_;
  torch::nn::Embedding embedding_{nullptr}, source_embedding_{nullptr};
  torch::nn::Linear features_{nullptr}, source_features_{nullptr};
  nn::PositionalEncoding position_{nullptr}, source_position_{nullptr};
  nn::Encoder encoder_{nullptr};
  nn::Decoder decoder_{nullptr};
  torch::nn::Linear output_{nullptr};
  torch::Tensor output_bias_;  // [C], when the weight is the embedding's
};
TORCH_MODULE(MiniTransformer);

}  // namespace headtorch::models
