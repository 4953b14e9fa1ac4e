#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "src/attention/masks.hpp"

// Attention that never holds all weights at once, for any score, bias and edit of the weights.
// Letters: B batch, H heads, T queries, S keys, E features of queries and keys, V features of values.

namespace headtorch::attention {

/// Attends the queries of a piece to its keys, by the explicit path.
/// @param piece its positions.  @param q_BHtE, k_BHsE, v_BHsV the rows of the piece.  @returns [B, H, t, V].
using AttendPiece = std::function<at::Tensor(const Piece& piece, const at::Tensor& q_BHtE,
                                             const at::Tensor& k_BHsE, const at::Tensor& v_BHsV)>;

struct BlockedInput {
  at::Tensor q;  ///< [B, H, T, E]
  at::Tensor k;  ///< [B, H, S, E]
  at::Tensor v;  ///< [B, H, S, V]
  Visibility visibility = Visibility::kAll;
  std::int64_t window = kNoWindow;  ///< as Mask::window
  std::vector<at::Tensor> captured =
      {};                          ///< tensors inside the AttendPiece that need gradients, as for recompute
  std::int64_t rows_at_once = 64;  ///< queries in a piece
};

/// Rows block by block, each with only those keys that visibility and window can show it. The backward pass
/// runs each block again, as recompute does, so that no more than rows_at_once x S weights live at a time:
/// O(T) memory, and under a window O(T window) time. Rows without any key are 0.
/// Milakov and Gimelshein 2018, arXiv:1805.02867, and Dao et al. 2022, arXiv:2205.14135, go further and split
/// the keys too, which fixes the score; here the piece may attend as it likes.
/// @param attend masks its piece itself (resolve), and depends on nothing but its arguments, `captured` and
/// torch's default generators.
/// @throws ShapeError for shapes that do not fit, ConfigError for rows_at_once < 1 or window < 0.
/// @returns [B, H, T, V].
at::Tensor attend_blocked(const AttendPiece& attend, const BlockedInput& input);

}  // namespace headtorch::attention
