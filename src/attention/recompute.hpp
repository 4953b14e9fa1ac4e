#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace headtorch::attention {

using TensorFunction = std::function<at::Tensor(const std::vector<at::Tensor>&)>;

/// f(inputs), without keeping what its backward pass needs: that runs f again, with the random numbers and
/// the autocast of the first time, and leaves what follows undisturbed.  Chen et al. 2016, arXiv:1604.06174.
/// Nothing is written into .grad on the way, so threads may share parameters; under their own generators each
/// (torch's are shared by all threads).
/// @param f depends on nothing but inputs, captured and torch's default generators. It lives as long as the
/// graph of the result: capture no activations.
/// @param captured tensors inside f that need gradients, such as parameters; none computed from another.
/// @throws Error in the backward pass of a second derivative.
at::Tensor recompute(const TensorFunction& f, const std::vector<at::Tensor>& inputs,
                     const std::vector<at::Tensor>& captured = {});

}  // namespace headtorch::attention
