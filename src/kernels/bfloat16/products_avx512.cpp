#include "src/kernels/bfloat16/layout.hpp"

// Products by AVX512-BF16: one instruction adds the products of 16 pairs to 16 sums.

namespace headtorch::kernels::HEADTORCH_SET {
namespace {

struct Operands {
  Index pairs;     // of depth
  const Pairs* a;  // [rows, a_stride]
  Index a_stride;
  const Pairs* b;  // a panel
};

template <int R>
HEADTORCH_INLINE void tile_of_pairs(const Operands& in, Into into, const float* bias, float* out,
                                    Index stride, Index columns) {
  Vec c[R][kTileVectors];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kTileVectors; ++v) {
      const Index left = columns - v * kLanes;
      const float* from = into == Into::kAdd ? out + r * stride : bias;
      c[r][v] = left > 0 && from != nullptr ? load_up_to(from + v * kLanes, left) : zero();
    }
  }
  for (Index k = 0; k < in.pairs; ++k) {
    __m512bh row[kTileVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kTileVectors; ++v)
      row[v] = (__m512bh)_mm512_loadu_si512(in.b + k * kPanel + v * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const auto x = (__m512bh)_mm512_set1_epi32(static_cast<int>(in.a[r * in.a_stride + k]));
#pragma GCC unroll 4
      for (int v = 0; v < kTileVectors; ++v) c[r][v] = _mm512_dpbf16_ps(c[r][v], x, row[v]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kTileVectors; ++v) {
      const Index left = columns - v * kLanes;
      if (left > 0) store_up_to(out + r * stride + v * kLanes, c[r][v], left);
    }
  }
}

void multiply_panels(const RoundedProduct& in) {
  const Index pairs = in.depth / 2;
  for (Index column = 0; column < in.columns; column += kPanel) {
    const float* bias = in.bias == nullptr ? nullptr : in.bias + column;
    Index row = 0;
    const auto some = [&]<int R>() {
      tile_of_pairs<R>({pairs, in.a + row * pairs, pairs, in.b + column * pairs}, in.into, bias,
                       in.c + row * in.c_stride + column, in.c_stride, in.columns - column);
      row += R;
    };
    while (row + kTileRows <= in.rows) some.template operator()<kTileRows>();
    if (row + 4 <= in.rows) some.template operator()<4>();
    if (row + 2 <= in.rows) some.template operator()<2>();
    if (row + 1 <= in.rows) some.template operator()<1>();
  }
}

}  // namespace

extern const Products products;
const Products products = rounded_products<multiply_panels>("AVX-512 in bfloat16");

}  // namespace headtorch::kernels::HEADTORCH_SET
