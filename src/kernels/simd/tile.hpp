#pragma once

#include "src/kernels/simd/vector.hpp"

// The innermost piece of every float32 matrix product: R rows by V vectors of C held in registers.

namespace headtorch::kernels::HEADTORCH_SET {

#if defined(__AVX512F__)
inline constexpr int kTileRows = 8;
#else
inline constexpr int kTileRows = 4;
#endif
inline constexpr int kTileVectors = 2;
inline constexpr Index kPanel = kTileVectors * kLanes;  // columns of a tile

/// What a tile reads: element (r, k) of A at a[r * row_step + k * depth_step], row k of B at b + k *
/// b_stride.
struct TileInput {
  Index depth;
  const float* a;
  Index row_step, depth_step;
  const float* b = nullptr;
  Index b_stride = 0;
  Index panel_step = kPanel;  // from a panel of B's columns to the next
  Index tile_step = 0;        // from kTileRows of A's rows to the next; 0: they follow each other
};

/// c += A B. `kTransposed`: A's rows are adjacent (row_step is 1), else its depth is (depth_step is 1).
template <int R, int V, bool kTransposed>
HEADTORCH_INLINE void multiply_add(const TileInput& in, Vec (&c)[R][V]) {
  const float* a = in.a;
  const float* b = in.b;
#pragma GCC unroll 2
  for (Index k = 0; k < in.depth; ++k) {
    Vec row[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) row[v] = load(b + v * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const Vec x = splat(kTransposed ? a[r] : a[r * in.row_step]);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) c[r][v] += x * row[v];
    }
    a += kTransposed ? in.depth_step : 1;
    b += in.b_stride;
  }
}

/// What becomes of a tile's sums.
enum class Into { kSet, kAdd };

/// R rows, `columns` of at most V vectors: C = start + A B, where start is C itself under kAdd, else `bias`
/// (null: 0).
template <int R, int V, bool kTransposed>
HEADTORCH_INLINE void tile(const TileInput& in, Into into, const float* bias, float* out, Index stride,
                           Index columns) {
  // C is wanted after the sums: its lines come in meanwhile.
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) __builtin_prefetch(out + r * stride + v * kLanes, 1);
  }
  Vec c[R][V];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) c[r][v] = zero();
  }
  multiply_add<R, V, kTransposed>(in, c);
#pragma GCC unroll 4
  for (int v = 0; v < V; ++v) {
    const Index left = columns - v * kLanes;
    if (left <= 0) break;
    const Vec start = into == Into::kSet && bias != nullptr ? load_up_to(bias + v * kLanes, left) : zero();
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      float* place = out + r * stride + v * kLanes;
      if (left >= kLanes) {
        store(place, (into == Into::kAdd ? load(place) : start) + c[r][v]);
      } else {
        store_first(place, (into == Into::kAdd ? load_first(place, left) : start) + c[r][v], left);
      }
    }
  }
}

/// The same for any number of rows: full tiles, then a smaller one.
template <int V, bool kTransposed>
HEADTORCH_INLINE void rows_of_tiles(TileInput in, Index rows, Into into, const float* bias, float* out,
                                    Index stride, Index columns) {
  const Index tile_step = in.tile_step != 0 ? in.tile_step : kTileRows * in.row_step;
  Index row = 0;
  for (; row + kTileRows <= rows; row += kTileRows) {
    tile<kTileRows, V, kTransposed>(in, into, bias, out + row * stride, stride, columns);
    in.a += tile_step;
  }
  const auto last = [&]<int R>() {
    tile<R, V, kTransposed>(in, into, bias, out + row * stride, stride, columns);
    row += R;
    in.a += R * in.row_step;
  };
  if constexpr (kTileRows > 4) {
    if (row + 4 <= rows) last.template operator()<4>();
  }
  if (row + 2 <= rows) last.template operator()<2>();
  if (row + 1 <= rows) last.template operator()<1>();
}

/// C [rows, columns] (+)= A B for small products whose B is padded: its rows may be read in whole vectors.
template <bool kTransposed>
HEADTORCH_INLINE void product_of_tiles(TileInput in, Index rows, Into into, float* out, Index stride,
                                       Index columns) {
  for (Index column = 0; column < columns; column += kPanel) {
    if (columns - column > kLanes) {
      rows_of_tiles<kTileVectors, kTransposed>(in, rows, into, nullptr, out + column, stride,
                                               columns - column);
    } else {
      rows_of_tiles<1, kTransposed>(in, rows, into, nullptr, out + column, stride, columns - column);
    }
    in.b += in.panel_step;
  }
}

}  // namespace headtorch::kernels::HEADTORCH_SET
