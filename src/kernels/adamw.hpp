#pragma once

#include <cstdint>

namespace headtorch::kernels {

struct SumOfSquares {
  std::int64_t count = 0;
  const float* values = nullptr;
  double* sum = nullptr;  ///< out
};

/// One step of AdamW (Loshchilov and Hutter 2019, arXiv:1711.05101, algorithm 2) on a stretch of parameters.
struct AdamWStep {
  std::int64_t count = 0;
  float* values = nullptr;
  const float* gradient = nullptr;
  float* mean = nullptr;
  float* square = nullptr;
  float gradient_scale = 1.0F;  ///< of clipping, and of the mean over counted positions
  double lr = 0.0, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.0;
  std::int64_t step = 1;  ///< from 1
};

}  // namespace headtorch::kernels
