#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <optional>

#include "src/nn/options.hpp"

namespace headtorch::nn {

/// A factor on scores: one number, or a learned one a head, whose logarithm is the parameter `log_scale` [H]
/// of its owner, so that it stays positive.
class ScoreScale {
 public:
  /// @param own  the score's own factor, under ScaleKind::kSqrt and where kLearned starts.
  ScoreScale(torch::nn::Module& owner, const Scale& scale, double own, std::int64_t n_heads);

  /// [H], on the graph when learned.
  torch::Tensor per_head(const torch::TensorOptions& options) const;
  /// Nothing when it is learned.
  std::optional<double> number() const;

 private:
  std::int64_t n_heads_;
  double number_;
  torch::Tensor log_scale_;
};

}  // namespace headtorch::nn
