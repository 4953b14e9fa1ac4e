#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "src/nn/options.hpp"

namespace headtorch::nn {

struct NormOptions {
  std::int64_t width = 64;  ///< D
  NormKind kind = NormKind::kLayer;
  double eps = 1e-5;
};

/// LayerNorm (Ba et al. 2016, arXiv:1607.06450): (x - mean) / sqrt(variance + eps) * weight + bias; or
/// RMSNorm (Zhang and Sennrich 2019, arXiv:1910.07467): x / sqrt(mean(x^2) + eps) * weight. Over the last
/// dimension, computed in float32 or wider.
class NormImpl : public torch::nn::Module {
 public:
  explicit NormImpl(const NormOptions& options);
  /// @param x [..., D]  @throws ShapeError unless the last size is D.
  torch::Tensor forward(const torch::Tensor& x);

  torch::Tensor weight, bias;  ///< [D]; RMSNorm has no bias

 private:
  NormOptions options_;
};
TORCH_MODULE(Norm);

}  // namespace headtorch::nn
