#include "src/nn/heads.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include "src/core/error.hpp"
#include "src/core/shape.hpp"

namespace headtorch::nn {

torch::Tensor split_heads(const torch::Tensor& x_BTD, std::int64_t n_heads) {
  check_shape("nn.split_heads", "x", x_BTD.sizes(), {kAnySize, kAnySize, kAnySize});
  const std::int64_t d_model = x_BTD.size(2);
  if (n_heads < 1 || d_model % n_heads != 0) {
    throw ShapeError("nn.split_heads",
                     fmt::format("x has {} features, expected a multiple of {} heads", d_model, n_heads));
  }
  return x_BTD.unflatten(-1, {n_heads, d_model / n_heads}).transpose(1, 2);
}

torch::Tensor merge_heads(const torch::Tensor& x_BHTE) {
  check_shape("nn.merge_heads", "x", x_BHTE.sizes(), {kAnySize, kAnySize, kAnySize, kAnySize});
  return x_BHTE.transpose(1, 2).flatten(2);
}

std::int64_t features_a_head(std::string_view where, std::int64_t d_model, std::int64_t n_heads) {
  if (d_model < 1 || n_heads < 1 || d_model % n_heads != 0) {
    throw ConfigError(where, fmt::format("d_model = {} is not a multiple of n_heads = {}", d_model, n_heads));
  }
  return d_model / n_heads;
}

}  // namespace headtorch::nn
