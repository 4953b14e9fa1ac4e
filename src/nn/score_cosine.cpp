#include <torch/torch.h>

#include <cmath>

#include "src/attention/scores.hpp"
#include "src/nn/score.hpp"
#include "src/nn/score_scale.hpp"

namespace headtorch::nn {
namespace {

/// scale * cos(q, k). Its own scale is sqrt(E): what q.k / sqrt(E) is for q and k of independent unit
/// features.
class CosineScore final : public ScoreFunction {
 public:
  CosineScore(const ScoreOptions& options, const ScoreSizes& sizes)
      : scale_(*this, options.scale, std::sqrt(static_cast<double>(sizes.head_width)), sizes.n_heads) {}

  torch::Tensor forward(const ScoreInput& input) override {
    return attention::cosine_scores(input.q, input.k, scale_.per_head(input.options));
  }

 private:
  ScoreScale scale_;
};

}  // namespace

std::shared_ptr<ScoreFunction> make_cosine_score(const ScoreOptions& options, const ScoreSizes& sizes) {
  return std::make_shared<CosineScore>(options, sizes);
}

}  // namespace headtorch::nn
