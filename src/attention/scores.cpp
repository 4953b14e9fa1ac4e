#include "src/attention/scores.hpp"

#include <ATen/ATen.h>

#include "src/attention/per_head.hpp"
#include "src/core/shape.hpp"

namespace headtorch::attention {
namespace {

constexpr std::int64_t kByDifferences = 2;  // a compute mode of at::cdist: never by matrix products

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
  // Differences first: |q|^2 + |k|^2 - 2 q.k would lose them when q and k lie far from 0.
  const at::Tensor distance_BHTS = at::cdist(q_BHTE, k_BHSE, 2.0, kByDifferences);
  return distance_BHTS.square() / (-2.0 * h_H11.square());
}

}  // namespace headtorch::attention
