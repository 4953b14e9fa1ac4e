#include "src/nn/norm.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include "src/core/error.hpp"

namespace headtorch::nn {

NormImpl::NormImpl(const NormOptions& options) : options_(options) {
  weight = register_parameter("weight", torch::ones({options.width}));
  if (options.kind == NormKind::kLayer) bias = register_parameter("bias", torch::zeros({options.width}));
}

torch::Tensor NormImpl::forward(const torch::Tensor& x) {
  if (x.dim() == 0 || x.size(-1) != options_.width) {
    throw ShapeError("nn.norm", fmt::format("x has {} features, expected {}", x.dim() == 0 ? 0 : x.size(-1),
                                            options_.width));
  }
  const torch::Tensor wide = x.to(torch::promote_types(x.scalar_type(), weight.scalar_type()));
  if (options_.kind == NormKind::kLayer)
    return torch::layer_norm(wide, {options_.width}, weight, bias, options_.eps);
  return torch::rms_norm(wide, {options_.width}, weight, options_.eps);
}

}  // namespace headtorch::nn
