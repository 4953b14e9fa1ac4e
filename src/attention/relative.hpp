#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "src/attention/piece.hpp"

// What positions add to scores, or turn in queries and keys. Biases are added to scores [B, H, T, S].
// Letters: B batch, H heads, T queries, S keys, E features a head; i and j are positions of query and key.

namespace headtorch::attention {

/// 2^(-8n/H) for n = 1..H where H is a power of two; else those of the power of two below, followed by every
/// other one of its double.  Press, Smith and Lewis 2022, arXiv:2108.12409, and the authors' code.
/// @throws ConfigError unless n_heads > 0.
std::vector<double> alibi_slopes(std::int64_t n_heads);

/// -slope_h |i - j|.  @returns [H, T, S].
at::Tensor alibi_bias(const std::vector<double>& slopes, const Piece& piece,
                      const at::TensorOptions& options);

enum class T5Direction {
  kBoth,  ///< half of the buckets for keys after the query
  kPast,  ///< keys after the query share bucket 0
};

struct T5Buckets {
  std::int64_t n_buckets = 32;
  std::int64_t max_distance = 128;  ///< in positions; all further ones share the last bucket
  T5Direction direction = T5Direction::kBoth;
};

/// Which bucket of distances a pair of positions falls into: one a distance for the nearer half, then evenly
/// in the logarithm.  Raffel et al. 2020, arXiv:1910.10683, 2.1, and the authors' code.
/// @throws ConfigError unless each direction has 2 buckets or more, and max_distance more than its nearer
/// half.
/// @returns int64 [T, S], from 0 to n_buckets - 1.
at::Tensor t5_buckets(const Piece& piece, const T5Buckets& buckets, at::Device device);

/// Turns features 2e and 2e+1 at position p by the angle p base^(-2e/E), so that q.k depends on positions by
/// their difference only. Of an odd number of features the last stays as it is, and E counts the others.
/// Su et al. 2021, arXiv:2104.09864, eq. 34.
/// @param first_position of the T in x.  @throws ConfigError unless base > 0.
at::Tensor rope(const at::Tensor& x_BHTE, std::int64_t first_position, double base = 10000.0);

/// -(j - i - offset)^2 / (2 h^2): a Gaussian window over relative positions, to be learned. A bandwidth below
/// e^-20 counts as that: it sees one key already.
/// @param offset, log_bandwidth in positions and its logarithm: [H, 1, 1], or of each query [B, H, T, 1].
/// @throws ShapeError unless they have one column, and one row or T.  @returns broadcastable to [B, H, T, S].
at::Tensor window_bias(const at::Tensor& offset, const at::Tensor& log_bandwidth, const Piece& piece);

}  // namespace headtorch::attention
