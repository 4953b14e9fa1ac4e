#include <torch/torch.h>

#include <cmath>

#include "src/attention/linear_attention.hpp"
#include "src/attention/scores.hpp"
#include "src/nn/score.hpp"
#include "src/nn/score_scale.hpp"

namespace headtorch::nn {
namespace {

/// Weights proportional to phi(sqrt(s) q) . phi(sqrt(s) k), phi = elu + 1: linear attention, whose outputs
/// need no weights.  Katharopoulos et al. 2020, arXiv:2006.16236, eq. 7.
class LinearScore final : public ScoreFunction {
 public:
  LinearScore(const ScoreOptions& options, const ScoreSizes& sizes)
      : scale_(*this, options.scale, 1.0 / std::sqrt(static_cast<double>(sizes.head_width)), sizes.n_heads) {}

  torch::Tensor forward(const ScoreInput& input) override {
    return attention::linear_scores(input.q, input.k, scale_.per_head(input.options));
  }
  bool attends(const attention::Mask& mask) const override { return attention::linear_applies(mask); }
  torch::Tensor attend(const torch::Tensor& q_BHTE, const torch::Tensor& k_BHSE, const torch::Tensor& v_BHSV,
                       const attention::Mask& mask) override {
    return attention::attend_linear(q_BHTE, k_BHSE, v_BHSV, mask, scale_.per_head(q_BHTE.options()));
  }

 private:
  ScoreScale scale_;
};

}  // namespace

std::shared_ptr<ScoreFunction> make_linear_score(const ScoreOptions& options, const ScoreSizes& sizes) {
  return std::make_shared<LinearScore>(options, sizes);
}

}  // namespace headtorch::nn
