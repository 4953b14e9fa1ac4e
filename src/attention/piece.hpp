#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace headtorch::attention {

/// Rows and columns of a piece of an attention matrix, as positions. Queries are the last T of S positions,
/// so that one new query after S-1 cached keys stands at S-1; with T > S the first positions are negative.
struct Piece {
  std::int64_t first_query = 0, queries = 0;
  std::int64_t first_key = 0, keys = 0;
};

/// All rows and columns.
constexpr Piece whole(std::int64_t queries, std::int64_t keys) { return {keys - queries, queries, 0, keys}; }

/// Position of the key minus position of the query.  @param options an integer or floating dtype.
/// @returns [T, S] of the piece.
at::Tensor relative_positions(const Piece& piece, const at::TensorOptions& options);

}  // namespace headtorch::attention
