#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

// Scores go into masked_softmax. Letters: B batch, H heads, T queries, S keys, E features a head. All take
// q_BHTE and k_BHSE, throw ShapeError unless batch, heads and E agree, and return [B, H, T, S].

namespace headtorch::attention {

/// q.k * scale.  Vaswani et al. 2017, eq. 1, arXiv:1706.03762, with scale = 1/sqrt(E).
at::Tensor scaled_dot_scores(const at::Tensor& q_BHTE, const at::Tensor& k_BHSE, double scale);
/// The same with one factor a head, for example a learned temperature.  @param scale_H [H].
at::Tensor scaled_dot_scores(const at::Tensor& q_BHTE, const at::Tensor& k_BHSE, const at::Tensor& scale_H);

/// -|q - k|^2 / (2 h^2): its softmax is Nadaraya-Watson regression with a Gaussian kernel.
/// @param bandwidth one value, or one a head; > 0, in units of q and k.
at::Tensor gaussian_scores(const at::Tensor& q_BHTE, const at::Tensor& k_BHSE,
                           const std::vector<double>& bandwidth);
/// The same with a bandwidth that may be learned.  @param bandwidth_H [H], > 0.
at::Tensor gaussian_scores(const at::Tensor& q_BHTE, const at::Tensor& k_BHSE, const at::Tensor& bandwidth_H);

/// (q.k - |k|^2 / 2) / h^2: gaussian_scores without the terms that are constant in a row, so its softmax is
/// the same, by one matrix product. Loses digits where q and k lie far from 0 and near each other.
/// @param bandwidth_H [H], > 0.
at::Tensor gaussian_by_dot_scores(const at::Tensor& q_BHTE, const at::Tensor& k_BHSE,
                                  const at::Tensor& bandwidth_H);

/// cos(q, k) * scale. The cosine with a vector of zeros is 0.  @param scale_H [H], an inverse temperature.
at::Tensor cosine_scores(const at::Tensor& q_BHTE, const at::Tensor& k_BHSE, const at::Tensor& scale_H);

/// sum_e w_e tanh(q_e + k_e), holding [B, H, T, S, E].  Bahdanau et al. 2015, arXiv:1409.0473, A.1.2.
/// @param weight_HE [H, E].
at::Tensor additive_scores(const at::Tensor& q_BHTE, const at::Tensor& k_BHSE, const at::Tensor& weight_HE);

/// log(phi(sqrt(s) q) . phi(sqrt(s) k)), phi = elu + 1: its softmax is linear attention written out
/// (attend_linear), holding [B, H, T, S, E]. Always finite: phi is taken as its logarithm.
/// Katharopoulos et al. 2020, arXiv:2006.16236, eq. 5 and 7.  @param scale_H [H], > 0.
at::Tensor linear_scores(const at::Tensor& q_BHTE, const at::Tensor& k_BHSE, const at::Tensor& scale_H);

}  // namespace headtorch::attention
