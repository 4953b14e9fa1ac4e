#pragma once

#include <torch/types.h>

#include "src/nn/dropout.hpp"
#include "src/nn/options.hpp"

// Steps of a layer in one pass each, forward and backward, through src/kernels: for modules that train
// outside the engine. Each is what the operations of LibTorch beside it compute, with the same dropout.

namespace headtorch::nn {

/// Whether the kernels take x: float32 on a CPU that has them.
bool fits_kernels(const torch::Tensor& x);

/// x * mask(x) of the draw.  @throws ConfigError unless fits_kernels(x).
torch::Tensor fused_dropout(const torch::Tensor& x, double p, const DropoutDraw& draw);

/// dropout(activation(x)) for kGelu and kRelu; p may be 0.  @throws ConfigError unless fits_kernels(x), and
/// for kSwiglu.
torch::Tensor fused_activation(const torch::Tensor& x, Activation activation, double p,
                               const DropoutDraw& draw);

}  // namespace headtorch::nn
