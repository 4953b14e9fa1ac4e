#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

// Scores go into masked_softmax. Letters: B batch, H heads, T queries, S keys, E features a head.

namespace headtorch::attention {

/// q.k * scale.  Vaswani et al. 2017, eq. 1, arXiv:1706.03762, with scale = 1/sqrt(E).
/// @param q_BHTE, k_BHSE  @throws ShapeError unless batch, heads and E agree.  @returns [B, H, T, S].
at::Tensor scaled_dot_scores(const at::Tensor& q_BHTE, const at::Tensor& k_BHSE, double scale);
/// The same with one factor a head, for example a learned temperature.  @param scale_H [H].
at::Tensor scaled_dot_scores(const at::Tensor& q_BHTE, const at::Tensor& k_BHSE, const at::Tensor& scale_H);

/// -|q - k|^2 / (2 h^2): its softmax is Nadaraya-Watson regression with a Gaussian kernel.
/// @param bandwidth one value, or one a head; > 0, in units of q and k.  @returns [B, H, T, S].
at::Tensor gaussian_scores(const at::Tensor& q_BHTE, const at::Tensor& k_BHSE,
                           const std::vector<double>& bandwidth);

}  // namespace headtorch::attention
