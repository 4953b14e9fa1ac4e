#include "src/kernels/simd/declarations.hpp"
#include "src/kernels/simd/tile.hpp"
#include "src/kernels/simd/transpose.hpp"

namespace headtorch::kernels::HEADTORCH_SET {
namespace {

constexpr Index kDepthAtOnce = 256;   // a panel of B then fits in the first cache
constexpr Index kTokensAtOnce = 256;  // of a weight's gradient
// Rows this many floats apart fall on few sets of the cache: then they are copied side by side.
constexpr Index kFarApartLeft = 256, kFarApartRight = 128;

Index whole_panels(Index columns) { return (columns + kPanel - 1) / kPanel; }

std::size_t packed_bytes(Index depth, Index columns) {
  return static_cast<std::size_t>(whole_panels(columns) * kPanel * depth) * sizeof(float);
}

std::size_t scratch_bytes(Index rows, Index, Index depth) {
  const Index whole_tiles = (rows + kTileRows - 1) / kTileRows * kTileRows;
  const Index floats = whole_tiles * smaller(depth, kTokensAtOnce);
  return static_cast<std::size_t>((floats + 15) / 16 * 16) * sizeof(float);
}

void pack(const Pack& call) {
  auto* out = static_cast<float*>(call.packed);
  if (call.transposed) {
    transpose_into_panels(call.matrix, call.stride, call.columns, call.depth, out);
    return;
  }
  for (Index column = 0; column < call.columns; column += kPanel) {
    const Index here = call.columns - column;
    for (Index k = 0; k < call.depth; ++k) {
      const float* row = call.matrix + k * call.stride + column;
      for (Index v = 0; v < kTileVectors; ++v) {
        const Index left = here - v * kLanes;
        store(out + v * kLanes, left > 0 ? load_up_to(row + v * kLanes, left) : zero());
      }
      out += kPanel;
    }
  }
}

void multiply(const Multiply& call) {
  const auto* packed = static_cast<const float*>(call.packed_b);
  for (Index k = 0; k < call.depth; k += kDepthAtOnce) {
    const Index depth = smaller(kDepthAtOnce, call.depth - k);
    for (Index column = 0; column < call.columns; column += kPanel) {
      const TileInput in{depth, call.a + k, call.a_stride, 1, packed + column * call.depth + k * kPanel,
                         kPanel};
      rows_of_tiles<kTileVectors, false>(in, call.rows, k == 0 && !call.adds ? Into::kSet : Into::kAdd,
                                         call.bias == nullptr ? nullptr : call.bias + column, call.c + column,
                                         call.c_stride, call.columns - column);
    }
  }
}

HEADTORCH_INLINE void copy_tile_row(const float* in, float* out) {
#if defined(__AVX512F__)
  static_assert(kTileRows == 8);
  _mm256_storeu_ps(out, _mm256_loadu_ps(in));
#else
  static_assert(kTileRows == 4);
  _mm_storeu_ps(out, _mm_loadu_ps(in));
#endif
}

HEADTORCH_INLINE void copy_panel_row(const float* in, float* out) {
#pragma GCC unroll 4
  for (int v = 0; v < kTileVectors; ++v) store(out + v * kLanes, load(in + v * kLanes));
}

/// `columns` of a [depth, *] matrix as [depth, kWidth], for the width of a tile or of a panel; columns behind
/// the last are 0.
template <Index kWidth>
HEADTORCH_INLINE void copy_columns(const float* in, Index stride, Index depth, Index columns, float* out) {
  for (Index row = 0; row < depth; ++row) {
    if (columns < kWidth) {
      for (Index c = 0; c < kWidth; ++c) out[c] = c < columns ? in[c] : 0.0F;
    } else if constexpr (kWidth == kPanel) {
      copy_panel_row(in, out);
    } else {
      copy_tile_row(in, out);
    }
    in += stride;
    out += kWidth;
  }
}

void add_transposed(const AddTransposed& call) {
  const bool copies_a = call.a_stride >= kFarApartLeft, copies_b = call.b_stride >= kFarApartRight;
  alignas(64) float b_panel[kTokensAtOnce * kPanel];
  auto* a_panels = static_cast<float*>(call.scratch);
  for (Index k = 0; k < call.depth; k += kTokensAtOnce) {
    const Index depth = smaller(kTokensAtOnce, call.depth - k);
    const float* a = call.a + k * call.a_stride;
    for (Index row = 0; copies_a && row < call.rows; row += kTileRows)
      copy_columns<kTileRows>(a + row, call.a_stride, depth, call.rows - row, a_panels + row * depth);
    TileInput in{.depth = depth,
                 .a = copies_a ? a_panels : a,
                 .row_step = 1,
                 .depth_step = copies_a ? kTileRows : call.a_stride,
                 .tile_step = copies_a ? kTileRows * depth : kTileRows};
    for (Index column = 0; column < call.columns; column += kPanel) {
      const Index columns = call.columns - column;
      in.b = call.b + k * call.b_stride + column;
      in.b_stride = call.b_stride;
      if (columns < kPanel || copies_b) {
        copy_columns<kPanel>(in.b, in.b_stride, depth, columns, b_panel);
        in.b = b_panel;
        in.b_stride = kPanel;
      }
      rows_of_tiles<kTileVectors, true>(in, call.rows, Into::kAdd, nullptr, call.c + column, call.c_stride,
                                        columns);
    }
  }
}

}  // namespace

const Products products = {
#if defined(__AVX512F__)
    "AVX-512",
#else
    "AVX2",
#endif
    packed_bytes, scratch_bytes, pack, multiply, add_transposed};

}  // namespace headtorch::kernels::HEADTORCH_SET
