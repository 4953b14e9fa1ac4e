#include "src/attention/piece.hpp"

#include <ATen/ATen.h>

namespace headtorch::attention {

at::Tensor relative_positions(const Piece& piece, const at::TensorOptions& options) {
  // Counted as integers: bfloat16 has no position past 256 that is odd.
  const auto counted = options.dtype(at::kLong);
  const at::Tensor key_S = at::arange(piece.first_key, piece.first_key + piece.keys, counted);
  const at::Tensor query_T = at::arange(piece.first_query, piece.first_query + piece.queries, counted);
  return (key_S - query_T.unsqueeze(-1)).to(options.dtype());
}

}  // namespace headtorch::attention
