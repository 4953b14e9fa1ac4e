#include "src/attention/attend.hpp"

#include <ATen/ATen.h>

#include "src/attention/softmax.hpp"
#include "src/core/shape.hpp"

namespace headtorch::attention {
namespace {

struct FusedMask {
  std::optional<at::Tensor> visible;
  bool causal = false;
};

FusedMask fused_mask(const at::Tensor& q_BHTE, const at::Tensor& k_BHSE, const Mask& mask) {
  const std::int64_t queries = q_BHTE.size(2), keys = k_BHSE.size(2);
  // LibTorch aligns its causal flag to the first key, which is the same only for a square.
  const bool plain = !mask.visible.defined() && mask.window >= keys - 1;
  if (mask.visibility == Visibility::kCausal && plain && queries == keys) return {{}, true};
  const at::Tensor visible = resolve(mask, queries, keys, q_BHTE.device());
  if (!visible.defined()) return {};
  return {visible.dim() < 2 ? visible.expand({queries, keys}) : visible, false};
}

}  // namespace

Attended attend_explicit(const at::Tensor& scores, const at::Tensor& v_BHSV, const at::Tensor& visible,
                         const WeightEdit& edit) {
  check_shape("attention.attend_explicit", "v", v_BHSV.sizes(),
              {kAnySize, kAnySize, scores.size(-1), kAnySize});
  const at::Tensor pattern = masked_softmax(scores, visible);
  return {at::matmul(edit ? edit(pattern) : pattern, v_BHSV), pattern};
}

at::Tensor attend_fused(const at::Tensor& q_BHTE, const at::Tensor& k_BHSE, const at::Tensor& v_BHSV,
                        const Mask& mask, double scale) {
  constexpr std::string_view kWhere = "attention.attend_fused";
  check_shape(kWhere, "q", q_BHTE.sizes(), {kAnySize, kAnySize, kAnySize, kAnySize});
  check_shape(kWhere, "k", k_BHSE.sizes(), {q_BHTE.size(0), q_BHTE.size(1), kAnySize, q_BHTE.size(3)});
  check_shape(kWhere, "v", v_BHSV.sizes(), {q_BHTE.size(0), q_BHTE.size(1), k_BHSE.size(2), kAnySize});
  const FusedMask fused = fused_mask(q_BHTE, k_BHSE, mask);
  return at::scaled_dot_product_attention(q_BHTE, k_BHSE, v_BHSV, fused.visible, 0.0, fused.causal, scale);
}

bool fused_kernel_applies(const at::Tensor& q_BHTE, const at::Tensor& k_BHSE, const at::Tensor& v_BHSV,
                          const Mask& mask, double scale) {
  constexpr std::int64_t kWrittenOut = 0;  // sdp::SDPBackend::math
  const FusedMask fused = fused_mask(q_BHTE, k_BHSE, mask);
  return at::_fused_sdp_choice(q_BHTE, k_BHSE, v_BHSV, fused.visible, 0.0, fused.causal, scale) !=
         kWrittenOut;
}

}  // namespace headtorch::attention
