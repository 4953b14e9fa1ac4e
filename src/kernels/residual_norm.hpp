#pragma once

#include <cstdint>

#include "src/kernels/dropout.hpp"

namespace headtorch::kernels {

/// sum = x + dropout(branch), y = norm(sum) over each of M rows of D features: the end of a residual branch
/// and the norm behind it in one pass, for pre-norm (sum goes on, y is the next branch's input) and post-norm
/// (y goes on). norm is LayerNorm (Ba et al. 2016), or with mean = bias = null RMSNorm (Zhang and Sennrich
/// 2019).
struct ResidualNormForward {
  std::int64_t rows = 0, features = 0;
  const float* branch = nullptr;  ///< [M, D]; null: 0, and sum is not written
  DropoutBits dropout = {};       ///< of the branch
  const float* x = nullptr;       ///< [M, D]
  const float* weight = nullptr;  ///< [D]
  const float* bias = nullptr;    ///< [D]; null under RMSNorm
  float eps = 1e-5F;
  float* sum = nullptr;         ///< out, [M, D]
  float* y = nullptr;           ///< out, [M, D]
  float* mean = nullptr;        ///< out, [M]; null under RMSNorm
  float* inverse_sd = nullptr;  ///< out, [M]
};

struct ResidualNormBackward {
  std::int64_t rows = 0, features = 0;
  const float* y_gradient = nullptr;    ///< [M, D]
  const float* sum_gradient = nullptr;  ///< [M, D], from where sum goes on; null: 0
  const float* sum = nullptr;           ///< of forward (x where there was no branch)
  const float* mean = nullptr;          ///< null under RMSNorm
  const float* inverse_sd = nullptr;
  const float* weight = nullptr;
  DropoutBits dropout = {};
  float* x_gradient = nullptr;       ///< out, [M, D]; may be sum_gradient
  float* branch_gradient = nullptr;  ///< out, [M, D]; null: not wanted. May be x_gradient without dropout
  float* weight_gradient = nullptr;  ///< [D], added to
  float* bias_gradient = nullptr;    ///< [D], added to; null under RMSNorm
};

}  // namespace headtorch::kernels
