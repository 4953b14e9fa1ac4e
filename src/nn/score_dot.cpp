#include <torch/torch.h>

#include <cmath>

#include "src/attention/scores.hpp"
#include "src/nn/score.hpp"
#include "src/nn/score_scale.hpp"

namespace headtorch::nn {
namespace {

/// q.k * scale.  Vaswani et al. 2017, eq. 1, arXiv:1706.03762.
class DotScore final : public ScoreFunction {
 public:
  DotScore(const ScoreOptions& options, const ScoreSizes& sizes)
      : scale_(*this, options.scale, 1.0 / std::sqrt(static_cast<double>(sizes.head_width)), sizes.n_heads) {}

  torch::Tensor forward(const ScoreInput& input) override {
    if (const auto number = scale_.number()) return attention::scaled_dot_scores(input.q, input.k, *number);
    return attention::scaled_dot_scores(input.q, input.k, scale_.per_head(input.options));
  }
  std::optional<double> dot_scale() const override { return scale_.number(); }

 private:
  ScoreScale scale_;
};

/// x_i . x_j / sqrt(D) on the layer's own input: no queries and keys, trained through x.
class RawDotScore final : public ScoreFunction {
 public:
  explicit RawDotScore(const ScoreSizes& sizes)
      : scale_(1.0 / std::sqrt(static_cast<double>(sizes.d_model))) {}

  torch::Tensor forward(const ScoreInput& input) override {
    return attention::scaled_dot_scores(input.q, input.k, scale_);
  }

 private:
  double scale_;
};

}  // namespace

std::shared_ptr<ScoreFunction> make_dot_score(const ScoreOptions& options, const ScoreSizes& sizes) {
  return std::make_shared<DotScore>(options, sizes);
}

std::shared_ptr<ScoreFunction> make_raw_dot_score(const ScoreOptions&, const ScoreSizes& sizes) {
  return std::make_shared<RawDotScore>(sizes);
}

}  // namespace headtorch::nn
