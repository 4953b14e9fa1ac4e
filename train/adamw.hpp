#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "src/kernels/kernels.hpp"

namespace headtorch::train {

struct AdamWOptions {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double weight_decay = 0.01;  ///< on matrices only: not on biases and norms (parameters of one dimension)
};

/// AdamW (Loshchilov and Hutter 2019, arXiv:1711.05101, algorithm 2) over one flat buffer that the module's
/// parameters become views of, and another that their gradients (grad()) are views of: norm, clip and update
/// are one pass each, whatever the number of tensors, and any optimizer of LibTorch works on the same
/// parameters.
class AdamW {
 public:
  AdamW(torch::nn::Module& module, const AdamWOptions& options);

  /// The parameters, in the buffer's order: those that decay first.
  const std::vector<torch::Tensor>& parameters() const { return parameters_; }
  /// The buffer itself; [n].
  const torch::Tensor& values() const { return values_; }
  /// Same order and layout as the buffer; [n].
  torch::Tensor& gradient() { return gradient_; }
  /// A [n] buffer for one share of the gradient.
  torch::Tensor new_gradient() const;
  /// Adds one gradient a parameter (undefined: none) to `flat`.
  void add(const std::vector<torch::Tensor>& gradients, torch::Tensor& flat) const;

  /// Multiplies the gradient by `scale`, then down to a global norm of at most `clip` (0: leaves it), and
  /// takes a step at rate `lr`; changes nothing when the norm is not finite.  @returns the norm before
  /// clipping. Pascanu et al. 2013.
  double step(double lr, double clip, double scale = 1.0);

  /// The same as operations on tensors alone: the host reads nothing, so that a CUDA graph can hold it.
  /// @param lr, scale float32 scalars on the parameters' device.  @returns the norm before clipping, a scalar
  /// there.
  torch::Tensor step_on_device(const torch::Tensor& lr, double clip, const torch::Tensor& scale);

 private:
  double norm_of_gradient() const;
  /// A step of number taken_: through the kernels, or through LibTorch, where `skip` (float32 scalar) of 1
  /// changes nothing.
  void update_by_kernels(double lr, double scale);
  template <typename Number>
  void update(const Number& lr, const Number& scale, const std::optional<torch::Tensor>& skip);

  AdamWOptions options_;
  std::vector<torch::Tensor> parameters_;
  torch::Tensor values_, gradient_, mean_, square_;  // [n]
  torch::Tensor taken_;                              // steps; float32 scalar on the same device
  std::int64_t n_decayed_ = 0;                       // elements
  const kernels::Kernels* kernels_ = nullptr;        // null: through LibTorch
};

}  // namespace headtorch::train
