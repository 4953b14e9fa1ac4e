#include "src/kernels/simd/declarations.hpp"
#include "src/kernels/simd/vector.hpp"

namespace headtorch::kernels::HEADTORCH_SET {
namespace {

HEADTORCH_INLINE Vec magnitude(Vec x) { return (Vec)((VecInt)x & 0x7fffffff); }

struct ValueAndSlope {
  Vec value, slope;
};

/// x Phi(x) and its derivative; both share exp(-x^2 / 2).
HEADTORCH_INLINE ValueAndSlope gelu(Vec x) {
  const Vec density = exponential(x * x * splat(-0.5F));
  const Vec t = reciprocal(splat(1.0F) + splat(0.3275911F * 0.70710678F) * magnitude(x));
  Vec p = splat(1.061405429F);
  p = p * t - splat(1.453152027F);
  p = p * t + splat(1.421413741F);
  p = p * t - splat(0.284496736F);
  p = p * t + splat(0.254829592F);
  const Vec tail = splat(0.5F) * p * t * density;  // 1 - Phi(|x|)
  const Vec phi = x > zero() ? splat(1.0F) - tail : tail;
  return {x * phi, phi + x * density * splat(0.39894228F)};
}

HEADTORCH_INLINE ValueAndSlope relu(Vec x) { return {larger(zero(), x), x > zero() ? splat(1.0F) : zero()}; }

template <ActivationKind kKind>
HEADTORCH_INLINE void activate(const ActivationForward& call) {
  const Vec scale = splat(call.dropout.scale);
  for (Index i = 0; i < call.count; i += kLanes) {
    const Index left = call.count - i;
    const Vec x = load_up_to(call.x + i, left);
    ValueAndSlope out = kKind == ActivationKind::kGelu ? gelu(x) : relu(x);
    if (call.dropout.bits != nullptr) {
      const std::uint32_t bits = bits_at(call.dropout.bits, i);
      out = {keep(out.value * scale, bits), keep(out.slope * scale, bits)};
    }
    store_up_to(call.y + i, out.value, left);
    store_up_to(call.x + i, out.slope, left);
  }
}

}  // namespace

void activation_forward(const ActivationForward& call) {
  if (call.kind == ActivationKind::kGelu) {
    activate<ActivationKind::kGelu>(call);
  } else {
    activate<ActivationKind::kRelu>(call);
  }
}

void activation_backward(const ActivationBackward& call) {
  for (Index i = 0; i < call.count; i += kLanes) {
    const Index left = call.count - i;
    store_up_to(call.gradient + i, load_up_to(call.gradient + i, left) * load_up_to(call.factor + i, left),
                left);
  }
}

void apply_dropout(const ApplyDropout& call) {
  const Vec scale = splat(call.dropout.scale);
  for (Index i = 0; i < call.count; i += kLanes) {
    const Index left = call.count - i;
    Vec x = load_up_to(call.x + i, left);
    if (call.dropout.bits != nullptr) x = keep(x * scale, bits_at(call.dropout.bits, i));
    store_up_to(call.y + i, x, left);
  }
}

void add_column_sums(const ColumnSums& call) {
  for (Index column = 0; column < call.columns; column += kLanes) {
    const Index left = call.columns - column;
    Vec total = zero();
    for (Index row = 0; row < call.rows; ++row) {
      total += load_up_to(call.matrix + row * call.columns + column, left);
    }
    store_up_to(call.sums + column, load_up_to(call.sums + column, left) + total, left);
  }
}

}  // namespace headtorch::kernels::HEADTORCH_SET
