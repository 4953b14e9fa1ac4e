#pragma once

#include "src/kernels/products.hpp"
#include "src/kernels/simd/tile.hpp"
#include "src/kernels/simd/transpose.hpp"

// Operands in bfloat16: two numbers of adjacent depths lie in one 32-bit word, as the instructions multiply
// them. Depths are padded with zeros to whole blocks of kDepthBlock.

namespace headtorch::kernels::HEADTORCH_SET {

using Pairs = std::uint32_t;

inline constexpr Index kDepthBlock = 32;

HEADTORCH_INLINE Index rounded_up(Index n, Index to) { return (n + to - 1) / to * to; }
HEADTORCH_INLINE Index padded_depth(Index depth) { return rounded_up(depth, kDepthBlock); }

/// Rounds to nearest even: low's lanes become the first half, high's the second.
HEADTORCH_INLINE __m512i rounded(Vec low, Vec high) { return (__m512i)_mm512_cvtne2ps_pbh(high, low); }

/// Lane i: numbers i of `even` and of `odd`.
HEADTORCH_INLINE __m512i paired(Vec even, Vec odd) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7,
                                         22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return _mm512_permutexvar_epi16(order, rounded(even, odd));
}

/// A [rows, depth] -> its pairs [rows, padded depth / 2].
HEADTORCH_INLINE void round_rows(const float* in, Index stride, Index rows, Index depth, Pairs* out) {
  for (Index row = 0; row < rows; ++row) {
    for (Index k = 0; k < depth; k += kDepthBlock) {
      const Index left = depth - k;
      const Vec low = load_up_to(in + k, left),
                high = left > kLanes ? load_up_to(in + k + kLanes, left - kLanes) : zero();
      _mm512_storeu_si512(out + k / 2, rounded(low, high));
    }
    in += stride;
    out += padded_depth(depth) / 2;
  }
}

/// B [depth, columns] -> pairs of its rows in panels of kPanel columns, each [padded depth / 2, kPanel].
HEADTORCH_INLINE void round_panels(const float* in, Index stride, Index depth, Index columns, Pairs* out) {
  for (Index column = 0; column < columns; column += kPanel) {
    for (Index k = 0; k < padded_depth(depth); k += 2) {
      for (Index v = 0; v < kTileVectors; ++v) {
        const Index left = columns - column - v * kLanes;
        const float* row = in + k * stride + column + v * kLanes;
        const Vec even = left > 0 && k < depth ? load_up_to(row, left) : zero();
        const Vec odd = left > 0 && k + 1 < depth ? load_up_to(row + stride, left) : zero();
        _mm512_storeu_si512(out + v * kLanes, paired(even, odd));
      }
      out += kPanel;
    }
  }
}

/// A [depth, rows] -> pairs [rows, padded depth / 2] of its transpose. `out` has room for whole blocks of
/// kLanes rows.
HEADTORCH_INLINE void round_transposed(const float* in, Index stride, Index depth, Index rows, Pairs* out) {
  const Index out_stride = padded_depth(depth) / 2;
  alignas(64) float block[kDepthBlock * kLanes], turned[kLanes * kDepthBlock];
  for (Index row = 0; row < rows; row += kLanes) {
    const Index columns = smaller(kLanes, rows - row);
    for (Index k = 0; k < depth; k += kDepthBlock) {
      const float* from = in + k * stride + row;
      Index from_stride = stride;
      if (columns < kLanes || k + kDepthBlock > depth) {
        for (Index i = 0; i < kDepthBlock; ++i)
          store(block + i * kLanes, k + i < depth ? load_up_to(from + i * stride, columns) : zero());
        from = block;
        from_stride = kLanes;
      }
      transpose_square(from, from_stride, turned, kDepthBlock);
      transpose_square(from + kLanes * from_stride, from_stride, turned + kLanes, kDepthBlock);
      for (Index i = 0; i < kLanes; ++i) {
        const float* both = turned + i * kDepthBlock;
        _mm512_storeu_si512(out + (row + i) * out_stride + k / 2, rounded(load(both), load(both + kLanes)));
      }
    }
  }
}

inline std::size_t packed_bytes(Index depth, Index columns) {
  return static_cast<std::size_t>(padded_depth(depth) / 2 * rounded_up(columns, kPanel)) * sizeof(Pairs);
}

/// Of both products: the left-hand side, rows up to whole blocks, and the right-hand side of a transposed
/// one.
inline std::size_t scratch_bytes(Index rows, Index columns, Index depth) {
  const Index left = rounded_up(rows, kPanel) * padded_depth(depth) / 2;
  return static_cast<std::size_t>(left) * sizeof(Pairs) + packed_bytes(depth, columns);
}

inline void pack(const Pack& call) {
  auto* out = static_cast<Pairs*>(call.packed);
  if (!call.transposed) {
    round_panels(call.matrix, call.stride, call.depth, call.columns, out);
    return;
  }
  // The matrix is [columns, depth]: turned a panel at a time.
  alignas(64) float turned[kDepthBlock * kPanel];
  for (Index column = 0; column < call.columns; column += kPanel) {
    const Index here = smaller(kPanel, call.columns - column);
    for (Index k = 0; k < call.depth; k += kDepthBlock) {
      const Index depth = smaller(kDepthBlock, call.depth - k);
      transpose(call.matrix + column * call.stride + k, call.stride, here, depth, turned, kPanel);
      round_panels(turned, kPanel, depth, here, out + column * padded_depth(call.depth) / 2 + k / 2 * kPanel);
    }
  }
}

/// C = start + A B of operands that are rounded.
struct RoundedProduct {
  Index rows, columns, depth;  // depth padded
  const Pairs* a;              // [rows up to whole blocks, depth / 2]
  const Pairs* b;              // panels
  float* c;
  Index c_stride;
  Into into;
  const float* bias;
};

/// The two products by way of one that takes rounded operands.
template <void (*kMultiply)(const RoundedProduct&)>
void multiply_rounded(const Multiply& call) {
  auto* a = static_cast<Pairs*>(call.scratch);
  round_rows(call.a, call.a_stride, call.rows, call.depth, a);
  kMultiply({call.rows, call.columns, padded_depth(call.depth), a, static_cast<const Pairs*>(call.packed_b),
             call.c, call.c_stride, call.adds ? Into::kAdd : Into::kSet, call.bias});
}

template <void (*kMultiply)(const RoundedProduct&)>
void add_transposed_rounded(const AddTransposed& call) {
  auto* a = static_cast<Pairs*>(call.scratch);
  Pairs* b = a + rounded_up(call.rows, kPanel) * padded_depth(call.depth) / 2;
  round_transposed(call.a, call.a_stride, call.depth, call.rows, a);
  round_panels(call.b, call.b_stride, call.depth, call.columns, b);
  kMultiply(
      {call.rows, call.columns, padded_depth(call.depth), a, b, call.c, call.c_stride, Into::kAdd, nullptr});
}

template <void (*kMultiply)(const RoundedProduct&)>
constexpr Products rounded_products(const char* name) {
  return {name,
          packed_bytes,
          scratch_bytes,
          pack,
          multiply_rounded<kMultiply>,
          add_transposed_rounded<kMultiply>};
}

}  // namespace headtorch::kernels::HEADTORCH_SET
