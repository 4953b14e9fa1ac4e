#include "src/attention/scores.hpp"

#include <ATen/ATen.h>

#include "src/attention/per_head.hpp"
#include "src/core/shape.hpp"

namespace headtorch::attention {
namespace {

void check_queries_and_keys(std::string_view where, const at::Tensor& q_BHTE, const at::Tensor& k_BHSE) {
  check_shape(where, "q", q_BHTE.sizes(), {kAnySize, kAnySize, kAnySize, kAnySize});
  check_shape(where, "k", k_BHSE.sizes(), {q_BHTE.size(0), q_BHTE.size(1), kAnySize, q_BHTE.size(3)});
}

}  // namespace

at::Tensor scaled_dot_scores(const at::Tensor& q_BHTE, const at::Tensor& k_BHSE, double scale) {
  check_queries_and_keys("attention.scaled_dot_scores", q_BHTE, k_BHSE);
  // Scaling q costs T*E products, scaling the scores T*S.
  return at::matmul(q_BHTE * scale, k_BHSE.transpose(-2, -1));
}

at::Tensor scaled_dot_scores(const at::Tensor& q_BHTE, const at::Tensor& k_BHSE, const at::Tensor& scale_H) {
  check_queries_and_keys("attention.scaled_dot_scores", q_BHTE, k_BHSE);
  check_shape("attention.scaled_dot_scores", "scale", scale_H.sizes(), {q_BHTE.size(1)});
  return at::matmul(q_BHTE * scale_H.view({-1, 1, 1}), k_BHSE.transpose(-2, -1));
}

at::Tensor gaussian_scores(const at::Tensor& q_BHTE, const at::Tensor& k_BHSE,
                           const std::vector<double>& bandwidth) {
  check_queries_and_keys("attention.gaussian_scores", q_BHTE, k_BHSE);
  const at::Tensor h_H11 =
      per_head("attention.gaussian_scores", "bandwidth", bandwidth, q_BHTE.size(1), q_BHTE.options());
  const at::Tensor q_norm_BHT1 = q_BHTE.square().sum(-1, true);
  const at::Tensor k_norm_BH1S = k_BHSE.square().sum(-1).unsqueeze(-2);
  const at::Tensor distance2_BHTS =
      q_norm_BHT1 + k_norm_BH1S - 2.0 * at::matmul(q_BHTE, k_BHSE.transpose(-2, -1));
  return distance2_BHTS.clamp_min(0.0) / (-2.0 * h_H11.square());
}

}  // namespace headtorch::attention
