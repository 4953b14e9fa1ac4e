#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <limits>

#include "src/attention/piece.hpp"

// Letters (docs/notation.md): B batch, H heads, T queries, S keys. One polarity everywhere: true = may look.

namespace headtorch::attention {

enum class Visibility { kAll, kCausal };

inline constexpr std::int64_t kNoWindow = std::numeric_limits<std::int64_t>::max();

/// Which keys each query may look at: all conditions hold at once.
struct Mask {
  Visibility visibility = Visibility::kAll;
  at::Tensor visible;               ///< bool, broadcastable to [B, H, T, S]; undefined: every key
  std::int64_t window = kNoWindow;  ///< positions i and j see each other iff |i - j| <= window; >= 0
};

/// Query i sees key j iff j <= i + (S - T): aligned to the last key, so that one new query after S-1 cached
/// keys sees all of them. With T > S the first rows see nothing.  @returns bool [T, S].
at::Tensor causal_mask(std::int64_t queries, std::int64_t keys, at::Device device = at::kCPU);

/// Key j of sequence b is visible iff j < lengths[b].  @param lengths_B int64.  @returns bool [B, 1, 1, S].
at::Tensor padding_mask(const at::Tensor& lengths_B, std::int64_t keys);

/// Logical and of two masks; undefined stands for "every key".
at::Tensor combine(const at::Tensor& a, const at::Tensor& b);

/// The mask as one tensor, or undefined when every key is visible.
/// @throws ShapeError unless `visible` is bool and broadcasts to [*, *, T, S]; ConfigError for a window < 0.
at::Tensor resolve(const Mask& mask, std::int64_t queries, std::int64_t keys, at::Device device);

/// The same for a piece of the matrix that `mask` belongs to: `visible` is that of the whole matrix.
/// @throws ShapeError also when the piece is not inside `visible`.
at::Tensor resolve(const Mask& mask, const Piece& piece, at::Device device);

}  // namespace headtorch::attention
