#pragma once

#include <ATen/core/Tensor.h>

namespace headtorch::attention {

/// Softmax over the last dimension, among visible keys only. Safe for any finite score (shifted by the row's
/// largest visible one); hidden keys get exactly 0 whatever their score; a row that sees nothing gives zeros,
/// and its gradients are zero too.
/// @param scores [..., T, S] floating.  @param visible bool, broadcastable to scores; undefined: every key.
at::Tensor masked_softmax(const at::Tensor& scores, const at::Tensor& visible);

}  // namespace headtorch::attention
