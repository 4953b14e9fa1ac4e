#pragma once

#include <torch/torch.h>

#include <cmath>
#include <limits>
#include <vector>

#include "models/mini_transformer.hpp"
#include "src/tasks/task.hpp"

// Letters: B batch, H heads, T tokens.

namespace headtorch::train {

/// H_i / ln(visible keys of i), mean over heads and over rows that see at least 2 keys.  @param pattern_BHTT
/// weights of self-attention without padding.  @returns [B]; 0 where no row sees two keys. The gradient is
/// that of A ln A, and finite where a weight is 0.
inline torch::Tensor normalised_entropy(const torch::Tensor& pattern_BHTT, models::Family family) {
  const std::int64_t length = pattern_BHTT.size(-1);
  if (length < 2) return torch::zeros({pattern_BHTT.size(0)}, pattern_BHTT.options().requires_grad(false));
  // ln A is cut off below: at a weight of 0 it would be infinite, and what reaches the scores 0 times that.
  const double least = pattern_BHTT.scalar_type() == torch::kDouble ? std::numeric_limits<double>::min()
                                                                    : std::numeric_limits<float>::min();
  const torch::Tensor entropy_BHT = -(pattern_BHTT * pattern_BHTT.clamp_min(least).log()).sum(-1);
  const bool causal = family == models::Family::kCausal;
  const std::int64_t first = causal ? 1 : 0;
  const auto options = pattern_BHTT.options().requires_grad(false);
  const torch::Tensor most_T = causal ? torch::arange(2, length + 1, options).log()
                                      : torch::full({length}, std::log(static_cast<double>(length)), options);
  return (entropy_BHT.narrow(-1, first, length - first) / most_T).mean({1, 2});
}

/// Looks into a forward pass for what `entropy_weight` W adds to the loss: the step minimises
///   mean loss - W mean H,   H = normalised_entropy, mean over layers, examples weighing as their counted
///   positions do.
/// Entropy that falls to 0 goes with unstable training (Zhai et al. 2023, arXiv:2303.06296, whose own remedy
/// is another: sigmaReparam); rewarding it in the loss is Attanasio et al. 2022's (arXiv:2203.09192), there
/// for unnormalised entropy summed over layers. The weights are those before dropout.
class EntropyBonus {
 public:
  explicit EntropyBonus(models::Family family) {
    probe_.keep = nn::Keep::kOutput;
    probe_.edit_pattern = [this, family](std::int64_t, const torch::Tensor& pattern_BHTT) {
      by_layer_.push_back(normalised_entropy(pattern_BHTT, family));
      return pattern_BHTT;
    };
  }
  EntropyBonus(const EntropyBonus&) = delete;
  EntropyBonus& operator=(const EntropyBonus&) = delete;

  nn::HeadProbe& probe() { return probe_; }
  /// Sum over counted positions of their example's H: a scalar, on the graph of the last forward pass.
  torch::Tensor sum(const torch::Tensor& labels_BT) const {
    const torch::Tensor entropy_B = torch::stack(by_layer_).mean(0);
    return (entropy_B * (labels_BT != tasks::kNotCounted).sum(1)).sum();
  }

 private:
  nn::HeadProbe probe_;
  std::vector<torch::Tensor> by_layer_;
};

}  // namespace headtorch::train
