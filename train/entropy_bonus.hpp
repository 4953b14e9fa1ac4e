#pragma once

#include <torch/torch.h>

#include <limits>
#include <vector>

#include "models/mini_transformer.hpp"
#include "src/tasks/task.hpp"

// Letters: B batch, H heads, T queries, S keys.

namespace headtorch::train {

/// H_i / ln(visible keys of i), mean over heads and over rows that see at least 2 keys.  @param pattern_BHTS
/// weights.
/// @param visible bool, broadcastable to them.  @returns [B]; 0 where no row sees two keys. The gradient is
/// that of A ln A, and finite where a weight is 0.
inline torch::Tensor normalised_entropy(const torch::Tensor& pattern_BHTS, const torch::Tensor& visible) {
  // ln A is cut off below: at a weight of 0 it would be infinite, and what reaches the scores 0 times that.
  const double least = pattern_BHTS.scalar_type() == torch::kDouble ? std::numeric_limits<double>::min()
                                                                    : std::numeric_limits<float>::min();
  const torch::Tensor entropy_BHT = -(pattern_BHTS * pattern_BHTS.clamp_min(least).log()).sum(-1);
  const torch::Tensor keys_BHT =
      visible.expand(pattern_BHTS.sizes()).sum(-1).to(pattern_BHTS.options().requires_grad(false));
  const torch::Tensor counts_BHT = keys_BHT >= 2.0;
  const torch::Tensor share_BHT = (entropy_BHT / keys_BHT.clamp_min(2.0).log()).masked_fill(~counts_BHT, 0.0);
  return share_BHT.sum({1, 2}) / counts_BHT.sum({1, 2}).clamp_min(1);
}

/// Looks into a forward pass for what `entropy_weight` W adds to the loss: the step minimises
///   mean loss - W mean H,   H = normalised_entropy, mean over layers (in an encoder-decoder of all three
///   stacks), examples weighing as their counted positions do.
/// Entropy that falls to 0 goes with unstable training (Zhai et al. 2023, arXiv:2303.06296, whose own remedy
/// is another: sigmaReparam); rewarding it in the loss is Attanasio et al. 2022's (arXiv:2203.09192), there
/// for unnormalised entropy summed over layers. The weights are those before dropout.
class EntropyBonus {
 public:
  /// @param input what the pass reads; both outlive it.
  EntropyBonus(const models::MiniTransformer& model, const models::ModelInput& input) {
    probe_.keep = nn::Keep::kOutput;
    probe_.edit_pattern = [this, &model, &input](std::int64_t place, const torch::Tensor& pattern_BHTS) {
      by_place_.push_back(normalised_entropy(pattern_BHTS, model->visible(input, place)));
      return pattern_BHTS;
    };
  }
  EntropyBonus(const EntropyBonus&) = delete;
  EntropyBonus& operator=(const EntropyBonus&) = delete;

  nn::HeadProbe& probe() { return probe_; }
  /// Sum over counted positions of their example's H: a scalar, on the graph of the last forward pass.
  torch::Tensor sum(const torch::Tensor& labels_BT) const {
    const torch::Tensor entropy_B = torch::stack(by_place_).mean(0);
    return (entropy_B * (labels_BT != tasks::kNotCounted).sum(1)).sum();
  }

 private:
  nn::HeadProbe probe_;
  std::vector<torch::Tensor> by_place_;
};

}  // namespace headtorch::train
