#include "src/attention/scores.hpp"

#include <ATen/ATen.h>

#include "src/attention/linear_attention.hpp"
#include "src/attention/per_head.hpp"
#include "src/core/shape.hpp"

namespace headtorch::attention {
namespace {

constexpr std::int64_t kByDifferences = 2;  // a compute mode of at::cdist: never by matrix products

void check_queries_and_keys(std::string_view where, const at::Tensor& q_BHTE, const at::Tensor& k_BHSE) {
  check_shape(where, "q", q_BHTE.sizes(), {kAnySize, kAnySize, kAnySize, kAnySize});
  check_shape(where, "k", k_BHSE.sizes(), {q_BHTE.size(0), q_BHTE.size(1), kAnySize, q_BHTE.size(3)});
}

/// Checks q, k and a parameter [H], which comes back as [H, 1, 1].
at::Tensor checked(std::string_view where, const at::Tensor& q_BHTE, const at::Tensor& k_BHSE,
                   const at::Tensor& parameter_H) {
  check_queries_and_keys(where, q_BHTE, k_BHSE);
  check_shape(where, "the parameter of each head", parameter_H.sizes(), {q_BHTE.size(1)});
  return parameter_H.view({-1, 1, 1});
}

at::Tensor gaussian(const at::Tensor& q_BHTE, const at::Tensor& k_BHSE, const at::Tensor& h_H11) {
  // Differences first: |q|^2 + |k|^2 - 2 q.k would lose them when q and k lie far from 0.
  const at::Tensor distance_BHTS = at::cdist(q_BHTE, k_BHSE, 2.0, kByDifferences);
  return distance_BHTS.square() / (-2.0 * h_H11.square());
}

at::Tensor unit(const at::Tensor& x_BHTE) {
  const at::Tensor norm_BHT1 = at::linalg_vector_norm(x_BHTE, 2, {-1}, /*keepdim=*/true);
  return x_BHTE / norm_BHT1.masked_fill(norm_BHT1 == 0.0, 1.0);
}

}  // namespace

at::Tensor scaled_dot_scores(const at::Tensor& q_BHTE, const at::Tensor& k_BHSE, double scale) {
  check_queries_and_keys("attention.scaled_dot_scores", q_BHTE, k_BHSE);
  // Scaling q costs T*E products, scaling the scores T*S.
  return at::matmul(q_BHTE * scale, k_BHSE.transpose(-2, -1));
}

at::Tensor scaled_dot_scores(const at::Tensor& q_BHTE, const at::Tensor& k_BHSE, const at::Tensor& scale_H) {
  const at::Tensor scale_H11 = checked("attention.scaled_dot_scores", q_BHTE, k_BHSE, scale_H);
  return at::matmul(q_BHTE * scale_H11, k_BHSE.transpose(-2, -1));
}

at::Tensor gaussian_scores(const at::Tensor& q_BHTE, const at::Tensor& k_BHSE,
                           const std::vector<double>& bandwidth) {
  constexpr std::string_view kWhere = "attention.gaussian_scores";
  check_queries_and_keys(kWhere, q_BHTE, k_BHSE);
  return gaussian(q_BHTE, k_BHSE, per_head(kWhere, "bandwidth", bandwidth, q_BHTE.size(1), q_BHTE.options()));
}

at::Tensor gaussian_scores(const at::Tensor& q_BHTE, const at::Tensor& k_BHSE,
                           const at::Tensor& bandwidth_H) {
  return gaussian(q_BHTE, k_BHSE, checked("attention.gaussian_scores", q_BHTE, k_BHSE, bandwidth_H));
}

at::Tensor gaussian_by_dot_scores(const at::Tensor& q_BHTE, const at::Tensor& k_BHSE,
                                  const at::Tensor& bandwidth_H) {
  const at::Tensor precision_H11 =
      checked("attention.gaussian_by_dot_scores", q_BHTE, k_BHSE, bandwidth_H).square().reciprocal();
  const at::Tensor half_norm_BHS = k_BHSE.square().sum(-1) * 0.5;
  return at::matmul(q_BHTE * precision_H11, k_BHSE.transpose(-2, -1)) -
         half_norm_BHS.unsqueeze(-2) * precision_H11;
}

at::Tensor cosine_scores(const at::Tensor& q_BHTE, const at::Tensor& k_BHSE, const at::Tensor& scale_H) {
  const at::Tensor scale_H11 = checked("attention.cosine_scores", q_BHTE, k_BHSE, scale_H);
  return at::matmul(unit(q_BHTE) * scale_H11, unit(k_BHSE).transpose(-2, -1));
}

at::Tensor additive_scores(const at::Tensor& q_BHTE, const at::Tensor& k_BHSE, const at::Tensor& weight_HE) {
  constexpr std::string_view kWhere = "attention.additive_scores";
  check_queries_and_keys(kWhere, q_BHTE, k_BHSE);
  check_shape(kWhere, "weight", weight_HE.sizes(), {q_BHTE.size(1), q_BHTE.size(3)});
  const at::Tensor joined_BHTSE = (q_BHTE.unsqueeze(-2) + k_BHSE.unsqueeze(-3)).tanh();
  return at::matmul(joined_BHTSE, weight_HE.view({q_BHTE.size(1), 1, q_BHTE.size(3), 1})).squeeze(-1);
}

at::Tensor linear_scores(const at::Tensor& q_BHTE, const at::Tensor& k_BHSE, const at::Tensor& scale_H) {
  checked("attention.linear_scores", q_BHTE, k_BHSE, scale_H);
  // By logarithms, because a product of two small features may round to 0 where the largest is neither's.
  return at::logsumexp(
      log_query_features(q_BHTE, scale_H).unsqueeze(-2) + log_key_features(k_BHSE, scale_H).unsqueeze(-3),
      {-1});
}

}  // namespace headtorch::attention
