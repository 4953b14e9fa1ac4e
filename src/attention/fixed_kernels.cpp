#include "src/attention/fixed_kernels.hpp"

#include <ATen/ATen.h>

#include "src/attention/per_head.hpp"
#include "src/core/shape.hpp"

namespace headtorch::attention {

at::Tensor positional_log_kernel(const PositionalKernel& kernel, std::int64_t n_heads, std::int64_t queries,
                                 std::int64_t keys, const at::TensorOptions& options) {
  constexpr std::string_view kWhere = "attention.positional_log_kernel";
  const at::Tensor h_H11 = per_head(kWhere, "bandwidth", kernel.bandwidth, n_heads, options);
  const at::Tensor slope_H11 = per_head(kWhere, "slope", kernel.slope, n_heads, options);
  const at::Tensor offset_H11 = per_head(kWhere, "offset", kernel.offset, n_heads, options);
  const at::Tensor query_T1 = at::arange(keys - queries, keys, options).unsqueeze(-1);
  const at::Tensor key_S = at::arange(keys, options);
  const at::Tensor distance_HTS = key_S - (slope_H11 * query_T1 + offset_H11);
  return kernel.shape == KernelShape::kGaussian ? distance_HTS.square() / (-2.0 * h_H11.square())
                                                : distance_HTS.abs() / -h_H11;
}

at::Tensor same_token_mask(const at::Tensor& tokens_BT) {
  check_shape("attention.same_token_mask", "tokens", tokens_BT.sizes(), {kAnySize, kAnySize});
  return (tokens_BT.unsqueeze(-1) == tokens_BT.unsqueeze(-2)).unsqueeze(1);
}

at::Tensor self_mask(std::int64_t queries, std::int64_t keys, at::Device device) {
  const auto options = at::TensorOptions(at::kLong).device(device);
  return at::arange(keys - queries, keys, options).unsqueeze(-1) == at::arange(keys, options);
}

}  // namespace headtorch::attention
