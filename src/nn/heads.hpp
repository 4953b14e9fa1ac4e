#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string_view>

namespace headtorch::nn {

/// [B, T, H*E] -> [B, H, T, E]: head h takes features h*E .. h*E+E-1 of every token.
/// @throws ShapeError unless H divides the last size.
torch::Tensor split_heads(const torch::Tensor& x_BTD, std::int64_t n_heads);

/// The inverse: [B, H, T, E] -> [B, T, H*E].
torch::Tensor merge_heads(const torch::Tensor& x_BHTE);

/// Features a head.  @throws ConfigError naming both numbers unless n_heads divides d_model.
std::int64_t features_a_head(std::string_view where, std::int64_t d_model, std::int64_t n_heads);

}  // namespace headtorch::nn
