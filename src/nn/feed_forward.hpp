#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include "src/nn/dropout.hpp"
#include "src/nn/options.hpp"

namespace headtorch::nn {

struct FeedForwardOptions {
  std::int64_t d_model = 64;
  std::int64_t d_ff = 256;
  Activation activation = Activation::kGelu;
  double dropout = 0.0;  ///< after the activation
  Init init = Init::kXavier;
  bool bias = true;
};

/// y = linear2(dropout(activation(linear1(x)))).  Vaswani et al. 2017, eq. 2; GELU: Hendrycks and Gimpel
/// 2016, exact form; SwiGLU: Shazeer 2020, arXiv:2002.05202, silu(a) * b of a linear1 twice as wide.
class FeedForwardImpl : public torch::nn::Module {
 public:
  explicit FeedForwardImpl(const FeedForwardOptions& options);
  /// @param x [..., D]
  torch::Tensor forward(const torch::Tensor& x, DropoutStream* stream = nullptr);

 private:
  FeedForwardOptions options_;
  torch::nn::Linear linear1_{nullptr}, linear2_{nullptr};
};
TORCH_MODULE(FeedForward);

}  // namespace headtorch::nn
