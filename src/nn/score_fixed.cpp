#include <torch/torch.h>

#include "src/attention/fixed_kernels.hpp"
#include "src/core/error.hpp"
#include "src/nn/score.hpp"

// Scores that nothing trains and that look at no feature: over positions and token ids.

namespace headtorch::nn {
namespace {

torch::Tensor zeros(const ScoreInput& input) {
  return torch::zeros({1, 1, input.piece.queries, input.piece.keys}, input.options.requires_grad(false));
}

/// Every visible key alike.
class UniformScore : public ScoreFunction {
 public:
  torch::Tensor forward(const ScoreInput& input) override { return zeros(input); }
};

/// The own position only: no mixing.
class SelfScore final : public UniformScore {
 public:
  torch::Tensor allowed(const ScoreInput& input) const override {
    return attention::self_mask(input.piece, input.options.device());
  }
};

/// Uniform over visible keys that hold the query's token.
class SameTokenScore final : public UniformScore {
 public:
  torch::Tensor allowed(const ScoreInput& input) const override {
    const attention::Piece& piece = input.piece;
    if (!input.tokens_BS.defined() || input.tokens_BS.size(-1) < piece.first_query + piece.queries) {
      throw ShapeError("nn.score",
                       "score same-token needs the tokens of the input, and works on self-attention only");
    }
    return attention::same_token_mask(input.tokens_BS, piece);
  }
};

/// A kernel over positions, centred at key slope i + offset.
class PositionalScore final : public ScoreFunction {
 public:
  PositionalScore(attention::KernelShape shape, const ScoreOptions& options, const ScoreSizes& sizes)
      : kernel_{shape, options.bandwidth, options.kernel_slope, options.kernel_offset},
        n_heads_(sizes.n_heads) {}

  torch::Tensor forward(const ScoreInput& input) override {
    return attention::positional_log_kernel(kernel_, n_heads_, input.piece,
                                            input.options.requires_grad(false))
        .unsqueeze(0);
  }

 private:
  attention::PositionalKernel kernel_;
  std::int64_t n_heads_;
};

}  // namespace

std::shared_ptr<ScoreFunction> make_uniform_score(const ScoreOptions&, const ScoreSizes&) {
  return std::make_shared<UniformScore>();
}

std::shared_ptr<ScoreFunction> make_self_score(const ScoreOptions&, const ScoreSizes&) {
  return std::make_shared<SelfScore>();
}

std::shared_ptr<ScoreFunction> make_same_token_score(const ScoreOptions&, const ScoreSizes&) {
  return std::make_shared<SameTokenScore>();
}

std::shared_ptr<ScoreFunction> make_fixed_gaussian_score(const ScoreOptions& options,
                                                         const ScoreSizes& sizes) {
  return std::make_shared<PositionalScore>(attention::KernelShape::kGaussian, options, sizes);
}

std::shared_ptr<ScoreFunction> make_fixed_exponential_score(const ScoreOptions& options,
                                                            const ScoreSizes& sizes) {
  return std::make_shared<PositionalScore>(attention::KernelShape::kExponential, options, sizes);
}

}  // namespace headtorch::nn
