#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

#include "src/attention/masks.hpp"

// Letters: B batch, H heads, T queries, S keys, E features of queries and keys, V features of values.

namespace headtorch::attention {

struct Attended {
  at::Tensor y;        ///< [B, H, T, V]
  at::Tensor pattern;  ///< [B, H, T, S], before dropout; rows sum to 1, or to 0 when they see nothing
};

/// Applied to the weights between the softmax and the product with the values; empty: nothing.
using WeightEdit = std::function<at::Tensor(const at::Tensor&)>;

/// y = edit(softmax(scores among visible keys)) v: the readable path, which every other is held to.
/// @param scores broadcastable to [B, H, T, S].  @param v_BHSV.  @param visible as for masked_softmax.
Attended attend_explicit(const at::Tensor& scores, const at::Tensor& v_BHSV, const at::Tensor& visible,
                         const WeightEdit& edit = {});

/// The same for scaled dot products, without dropout and without ever holding the weights: LibTorch's
/// scaled_dot_product_attention.  @throws ShapeError as scaled_dot_scores.
at::Tensor attend_fused(const at::Tensor& q_BHTE, const at::Tensor& k_BHSE, const at::Tensor& v_BHSV,
                        const Mask& mask, double scale);

/// Whether LibTorch takes a fused kernel for these inputs, or falls back to products it writes out.
bool fused_kernel_applies(const at::Tensor& q_BHTE, const at::Tensor& k_BHSE, const at::Tensor& v_BHSV,
                          const Mask& mask, double scale);

}  // namespace headtorch::attention
