#include "src/attention/softmax.hpp"

#include <ATen/ATen.h>

#include <limits>

namespace headtorch::attention {

at::Tensor masked_softmax(const at::Tensor& scores, const at::Tensor& visible) {
  if (!visible.defined()) return at::softmax(scores, -1);
  // A row that sees nothing is let through the softmax whole and zeroed afterwards: -inf everywhere would be
  // 0/0.
  const at::Tensor blind = visible.any(-1, /*keepdim=*/true).logical_not();
  const at::Tensor hidden = (visible | blind).logical_not();
  const at::Tensor weights =
      at::softmax(scores.masked_fill(hidden, -std::numeric_limits<double>::infinity()), -1);
  // Looking whether there is any saves a pass on a CPU; on a GPU the host would wait for the answer.
  if (blind.is_cpu() && !blind.any().item<bool>()) return weights;
  return weights.masked_fill(blind, 0.0);
}

}  // namespace headtorch::attention
