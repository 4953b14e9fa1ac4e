#pragma once

#include <cstdint>

#include "src/kernels/dropout.hpp"

namespace headtorch::kernels {

enum class ActivationKind { kGelu, kRelu };

/// y = dropout(f(x)); x becomes the factor from y's gradient to its own: f'(x), scaled and dropped alike.
/// GELU (Hendrycks and Gimpel 2016) in its exact form, its error function to 1.5e-7 (Abramowitz and
/// Stegun 7.1.26).
struct ActivationForward {
  ActivationKind kind = ActivationKind::kGelu;
  std::int64_t count = 0;
  float* x = nullptr;
  DropoutBits dropout = {};
  float* y = nullptr;
};

/// gradient *= factor.
struct ActivationBackward {
  std::int64_t count = 0;
  const float* factor = nullptr;
  float* gradient = nullptr;
};

/// Cross-entropy of M rows of C logits in nats, summed, and its gradient. With smoothing s a label's target
/// is 1 - s and every class gets s / C more (Szegedy et al. 2016, arXiv:1512.00567).
struct CrossEntropy {
  std::int64_t rows = 0, classes = 0;
  float* logits = nullptr;               ///< [M, C]; out: the gradient of the sum
  const std::int64_t* labels = nullptr;  ///< [M]; a negative one is not counted: its row becomes 0
  float smoothing = 0.0F;
  double* loss = nullptr;  ///< out
};

/// sums[j] += sum over rows of matrix[row, j].
struct ColumnSums {
  std::int64_t rows = 0, columns = 0;
  const float* matrix = nullptr;
  float* sums = nullptr;
};

}  // namespace headtorch::kernels
