#include "src/attention/linear_attention.hpp"

#include <ATen/ATen.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>

#include "src/core/error.hpp"
#include "src/core/shape.hpp"

namespace headtorch::attention {
namespace {

constexpr std::string_view kWhere = "attention.attend_linear";
constexpr std::int64_t kChunk = 64;  // rows whose weights among themselves are written out

at::Tensor widened(const at::Tensor& x) { return x.to(at::promote_types(x.scalar_type(), at::kFloat)); }

/// [.., S] that all queries share, as a factor of features [B, H, S, E].
at::Tensor as_column(const at::Tensor& visible) {
  return visible.dim() < 2 ? visible.unsqueeze(-1) : visible.transpose(-2, -1);
}

/// Row i: sum over keys j <= i + (S - T) of (q_i . k_j) v_j, for T <= S.
at::Tensor running_sums(const at::Tensor& q_BHTE, const at::Tensor& k_BHSE, const at::Tensor& v_BHSV) {
  const std::int64_t queries = q_BHTE.size(2), before = k_BHSE.size(2) - queries;
  const std::int64_t rows = std::clamp<std::int64_t>(queries, 1, kChunk);
  const std::int64_t chunks = std::max<std::int64_t>(1, (queries + rows - 1) / rows);
  const auto chunked = [&](const at::Tensor& x) {
    return at::constant_pad_nd(x, {0, 0, 0, chunks * rows - queries})
        .reshape({x.size(0), x.size(1), chunks, rows, x.size(3)});
  };
  const at::Tensor q = chunked(q_BHTE), k = chunked(k_BHSE.narrow(2, before, queries));
  const at::Tensor v = chunked(v_BHSV.narrow(2, before, queries));
  const at::Tensor cached_BHEV =
      at::matmul(k_BHSE.narrow(2, 0, before).transpose(-2, -1), v_BHSV.narrow(2, 0, before));
  const at::Tensor own = at::matmul(k.transpose(-2, -1), v);
  const at::Tensor earlier = at::cat({cached_BHEV.unsqueeze(2), own.narrow(2, 0, chunks - 1)}, 2).cumsum(2);
  const at::Tensor sums = at::matmul(q, earlier) + at::matmul(at::matmul(q, k.transpose(-2, -1)).tril(), v);
  return sums.reshape({q_BHTE.size(0), q_BHTE.size(1), chunks * rows, v_BHSV.size(3)}).narrow(2, 0, queries);
}

at::Tensor log_features(const at::Tensor& x_BHTE, const at::Tensor& scale_H) {
  const at::Tensor x = widened(x_BHTE) * widened(scale_H).sqrt().view({-1, 1, 1});
  return at::where(x > 0.0, at::log1p(x.clamp_min(0.0)), x);
}

}  // namespace

bool linear_applies(const Mask& mask) {
  return mask.window == kNoWindow &&
         (!mask.visible.defined() || mask.visible.dim() < 2 || mask.visible.size(-2) == 1);
}

at::Tensor log_query_features(const at::Tensor& q_BHTE, const at::Tensor& scale_H) {
  return log_features(q_BHTE, scale_H);
}

at::Tensor log_key_features(const at::Tensor& k_BHSE, const at::Tensor& scale_H) {
  const at::Tensor log_BHSE = log_features(k_BHSE, scale_H);
  return log_BHSE.clamp_min(log_BHSE.scalar_type() == at::kDouble ? -700.0 : -80.0);
}

at::Tensor attend_linear(const at::Tensor& q_BHTE, const at::Tensor& k_BHSE, const at::Tensor& v_BHSV,
                         const Mask& mask, const at::Tensor& scale_H) {
  check_shape(kWhere, "q", q_BHTE.sizes(), {kAnySize, kAnySize, kAnySize, kAnySize});
  check_shape(kWhere, "k", k_BHSE.sizes(), {q_BHTE.size(0), q_BHTE.size(1), kAnySize, q_BHTE.size(3)});
  check_shape(kWhere, "v", v_BHSV.sizes(), {q_BHTE.size(0), q_BHTE.size(1), k_BHSE.size(2), kAnySize});
  check_shape(kWhere, "scale", scale_H.sizes(), {q_BHTE.size(1)});
  if (!linear_applies(mask)) {
    throw ConfigError(kWhere, "the mask has a window or differs between queries, expected one of keys");
  }
  const std::int64_t queries = q_BHTE.size(2), keys = k_BHSE.size(2);
  const at::Tensor visible = resolve({Visibility::kAll, mask.visible}, queries, keys, q_BHTE.device());
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);

  // A factor of all features of a query leaves its weights as they are.
  const at::Tensor log_q_BHTE = log_query_features(q_BHTE, scale_H);
  at::Tensor q = (log_q_BHTE - log_q_BHTE.amax(-1, /*keepdim=*/true).detach()).exp();
  at::Tensor k = log_key_features(k_BHSE, scale_H).exp();
  if (visible.defined()) k = k.masked_fill(as_column(visible).logical_not(), 0.0);
  // One more value of 1 sums the weights.
  const at::Tensor v = at::constant_pad_nd(widened(v_BHSV), {0, 1}, 1.0);

  const std::int64_t blind = std::max<std::int64_t>(0, queries - keys);
  const bool causal = mask.visibility == Visibility::kCausal;
  const at::Tensor sums = causal ? running_sums(q.narrow(2, blind, queries - blind), k, v)
                                 : at::matmul(q, at::matmul(k.transpose(-2, -1), v));
  const at::Tensor total = sums.narrow(-1, v_BHSV.size(3), 1);
  const at::Tensor y = sums.narrow(-1, 0, v_BHSV.size(3)) / total.masked_fill(total == 0.0, 1.0);
  return (causal ? at::constant_pad_nd(y, {0, 0, blind, 0}) : y).to(v_BHSV.scalar_type());
}

}  // namespace headtorch::attention
