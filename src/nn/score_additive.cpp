#include <torch/torch.h>

#include "src/attention/scores.hpp"
#include "src/nn/initialisation.hpp"
#include "src/nn/score.hpp"

namespace headtorch::nn {
namespace {

/// w . tanh(q + k), with w learned a head.  Bahdanau et al. 2015, arXiv:1409.0473, A.1.2.
class AdditiveScore final : public ScoreFunction {
 public:
  explicit AdditiveScore(const ScoreSizes& sizes) {
    weight_ = register_parameter("weight", torch::empty({sizes.n_heads, sizes.head_width}));
    initialise(weight_.data(), Init::kXavier);
  }

  torch::Tensor forward(const ScoreInput& input) override {
    return attention::additive_scores(input.q, input.k, weight_);
  }

 private:
  torch::Tensor weight_;  // [H, E]
};

}  // namespace

std::shared_ptr<ScoreFunction> make_additive_score(const ScoreOptions&, const ScoreSizes& sizes) {
  return std::make_shared<AdditiveScore>(sizes);
}

}  // namespace headtorch::nn
