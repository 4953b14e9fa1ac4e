#include <torch/torch.h>

#include <cmath>

#include "src/attention/per_head.hpp"
#include "src/attention/scores.hpp"
#include "src/core/error.hpp"
#include "src/nn/score.hpp"

namespace headtorch::nn {
namespace {

/// -|q - k|^2 / (2 h^2) with a learned bandwidth h a head: Nadaraya-Watson regression on learned queries and
/// keys. h starts at E^(1/4), where dot products of 1/sqrt(E) are the same but for the keys' norms.
class GaussianScore final : public ScoreFunction {
 public:
  explicit GaussianScore(const ScoreSizes& sizes) {
    // Its logarithm is learned, so that the bandwidth stays positive.
    const double start = 0.25 * std::log(static_cast<double>(sizes.head_width));
    log_bandwidth_ = register_parameter("log_bandwidth", torch::full({sizes.n_heads}, start));
  }

  torch::Tensor forward(const ScoreInput& input) override {
    return attention::gaussian_scores(input.q, input.k, log_bandwidth_.exp());
  }

 private:
  torch::Tensor log_bandwidth_;  // [H]
};

/// The same on the layer's own input, detached, with given bandwidths: exp(-|x_i - x_j|^2 / 2 h^2),
/// untrained.
class UntrainedGaussianScore final : public ScoreFunction {
 public:
  UntrainedGaussianScore(const ScoreOptions& options, const ScoreSizes& sizes)
      : bandwidth_(options.bandwidth), n_heads_(sizes.n_heads) {}

  torch::Tensor forward(const ScoreInput& input) override {
    const torch::Tensor h_H11 = attention::per_head("nn.score", "bandwidth", bandwidth_, n_heads_,
                                                    input.options.requires_grad(false));
    return attention::gaussian_scores(input.q.detach(), input.k.detach(), std::vector<double>{1.0}) /
           h_H11.square();
  }

 private:
  std::vector<double> bandwidth_;
  std::int64_t n_heads_;
};

/// The same on the rows that a task's positions stand for, as they were read: no layer changes them.
class FeatureGaussianScore final : public ScoreFunction {
 public:
  FeatureGaussianScore(const ScoreOptions& options, const ScoreSizes& sizes)
      : bandwidth_(options.bandwidth), n_heads_(sizes.n_heads) {}

  torch::Tensor forward(const ScoreInput& input) override {
    const attention::Piece& piece = input.piece;
    if (!input.rows_BSF.defined() || input.rows_BSF.size(1) < piece.first_query + piece.queries) {
      throw ShapeError(
          "nn.score",
          "score feature-gaussian needs the numbers of each position, and works on self-attention only");
    }
    const torch::Tensor rows_B1SF = input.rows_BSF.detach().to(input.options.dtype()).unsqueeze(1);
    const torch::Tensor h_H11 = attention::per_head("nn.score", "bandwidth", bandwidth_, n_heads_,
                                                    input.options.requires_grad(false));
    return attention::gaussian_scores(rows_B1SF.narrow(2, piece.first_query, piece.queries),
                                      rows_B1SF.narrow(2, piece.first_key, piece.keys),
                                      std::vector<double>{1.0}) /
           h_H11.square();
  }

 private:
  std::vector<double> bandwidth_;
  std::int64_t n_heads_;
};

}  // namespace

std::shared_ptr<ScoreFunction> make_gaussian_score(const ScoreOptions&, const ScoreSizes& sizes) {
  return std::make_shared<GaussianScore>(sizes);
}

std::shared_ptr<ScoreFunction> make_untrained_gaussian_score(const ScoreOptions& options,
                                                             const ScoreSizes& sizes) {
  return std::make_shared<UntrainedGaussianScore>(options, sizes);
}

std::shared_ptr<ScoreFunction> make_feature_gaussian_score(const ScoreOptions& options,
                                                           const ScoreSizes& sizes) {
  return std::make_shared<FeatureGaussianScore>(options, sizes);
}

}  // namespace headtorch::nn
