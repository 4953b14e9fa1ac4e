#include "src/kernels/simd/declarations.hpp"
#include "src/kernels/simd/tile.hpp"
#include "src/kernels/simd/transpose.hpp"

namespace headtorch::kernels::HEADTORCH_SET {
namespace {

constexpr Index kDepthAtOnce = 256;   // a panel of B then fits in the first cache
constexpr Index kTokensAtOnce = 128;  // of a weight's gradient
constexpr Index kStrideThatCollides =
    512;  // floats: from there on rows of a panel fall on few sets of the cache

Index whole_panels(Index columns) { return (columns + kPanel - 1) / kPanel; }

std::size_t packed_bytes(Index depth, Index columns) {
  return static_cast<std::size_t>(whole_panels(columns) * kPanel * depth) * sizeof(float);
}

std::size_t scratch_bytes(Index, Index, Index) { return 0; }

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

void add_transposed(const AddTransposed& call) {
  alignas(64) float panel[kTokensAtOnce * kPanel];
  for (Index k = 0; k < call.depth; k += kTokensAtOnce) {
    const Index depth = smaller(kTokensAtOnce, call.depth - k);
    for (Index column = 0; column < call.columns; column += kPanel) {
      const Index columns = call.columns - column;
      const float* b = call.b + k * call.b_stride + column;
      Index b_stride = call.b_stride;
      if (columns < kPanel || b_stride >= kStrideThatCollides) {
        for (Index row = 0; row < depth; ++row) {
          for (Index v = 0; v < kTileVectors; ++v) {
            const Index left = columns - v * kLanes;
            store(panel + row * kPanel + v * kLanes,
                  left > 0 ? load_up_to(b + row * b_stride + v * kLanes, left) : zero());
          }
        }
        b = panel;
        b_stride = kPanel;
      }
      const TileInput in{depth, call.a + k * call.a_stride, 1, call.a_stride, b, b_stride};
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
