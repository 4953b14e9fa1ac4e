#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace headtorch::attention {

/// A setting given once for all heads or once a head, as a tensor [1, 1, 1] or [H, 1, 1].
/// @throws ConfigError naming both counts.
at::Tensor per_head(std::string_view where, std::string_view name, const std::vector<double>& values,
                    std::int64_t n_heads, const at::TensorOptions& options);

}  // namespace headtorch::attention
