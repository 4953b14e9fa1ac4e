#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "src/attention/piece.hpp"
#include "src/core/head_kernel.hpp"

// Kernels that nothing trains: as scores for masked_softmax, log K up to a constant a row, or as weights.
// Letters: B batch, H heads, T queries, S keys.

namespace headtorch::attention {

enum class KernelShape { kGaussian, kExponential };

/// Query i looks around position c = slope * i + offset: slope 1 relative, -1 mirrored (offset T-1 is the
/// exact mirror), 0 absolute. Each list holds one value, or one a head.
struct PositionalKernel {
  KernelShape shape = KernelShape::kGaussian;
  std::vector<double> bandwidth = {1.0};  ///< in positions, > 0
  std::vector<double> slope = {1.0};
  std::vector<double> offset = {0.0};  ///< in positions
};

/// Gaussian -(j - c)^2 / (2 h^2), exponential -|j - c| / h.
/// @throws ConfigError for a list of the wrong length.  @returns [1 or H, T, S].
at::Tensor positional_log_kernel(const PositionalKernel& kernel, std::int64_t n_heads, const Piece& piece,
                                 const at::TensorOptions& options);

/// True where a key holds the query's token.  @param tokens_BS int64, of all positions.
/// @throws ShapeError when the piece is not inside them.  @returns bool [B, 1, T, S] of the piece.
at::Tensor same_token_mask(const at::Tensor& tokens_BS, const Piece& piece);

/// True on the own position.  @returns bool [T, S] of the piece.
at::Tensor self_mask(const Piece& piece, at::Device device = at::kCPU);

/// What head_kernel_weights looks at.
struct KernelSight {
  at::Tensor visible;    ///< bool, broadcastable to [B, T, S]; undefined: every key
  at::Tensor tokens_BS;  ///< int64; needed by families of tokens only
  Piece piece = {};      ///< all keys; the queries' positions
};

/// The rows of kernel_row (src/core/head_kernel.hpp), computed in float64. A query that may not see its own
/// position is padding: families of tokens give it U. A row that sees nothing is 0.
/// @throws ConfigError as kernel_row, ShapeError when tokens are missing.  @returns [1 or B, T, S].
at::Tensor head_kernel_weights(const HeadKernel& kernel, const KernelSight& sight,
                               const at::TensorOptions& options);

}  // namespace headtorch::attention
