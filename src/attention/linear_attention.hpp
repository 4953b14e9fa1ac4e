#pragma once

#include <ATen/core/Tensor.h>

#include "src/attention/masks.hpp"

// Linear attention: weights phi(sqrt(s) q) . phi(sqrt(s) k) over their row's sum, phi(x) = elu(x) + 1.
// Katharopoulos et al. 2020, arXiv:2006.16236.
// Letters: B batch, H heads, T queries, S keys, E features of queries and keys, V features of values.

namespace headtorch::attention {

/// Whether attend_linear can hold to the mask: no window, and `visible` the same for all queries ([B, 1, 1,
/// S]).
bool linear_applies(const Mask& mask);

/// Attention with linear_scores in O(T) time and memory, forward and backward: sums over the keys, running
/// sums where causal. Rows that see nothing are 0. float16 and bfloat16 are summed in float32.
/// @param scale_H [H], > 0, an inverse temperature.  @returns [B, H, T, V].
/// @throws ShapeError for shapes that do not fit, ConfigError unless linear_applies(mask).
at::Tensor attend_linear(const at::Tensor& q_BHTE, const at::Tensor& k_BHSE, const at::Tensor& v_BHSV,
                         const Mask& mask, const at::Tensor& scale_H);

/// log phi(sqrt(s) x) = log1p(x') above 0 and x' below, x' = sqrt(s) x; at least float32.
at::Tensor log_query_features(const at::Tensor& q_BHTE, const at::Tensor& scale_H);
/// The same for keys, and at least -80 (float64: -700), so that no sum over keys rounds to 0.
at::Tensor log_key_features(const at::Tensor& k_BHSE, const at::Tensor& scale_H);

}  // namespace headtorch::attention
