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

struct Product {
  Index rows, columns, pairs;
  const Pairs* a;
  const Pairs* b;
  float* c;
  Index c_stride;
  Into into;
  const float* bias;
};

HEADTORCH_INLINE void multiply_panels(const Product& in) {
  for (Index column = 0; column < in.columns; column += kPanel) {
    const float* bias = in.bias == nullptr ? nullptr : in.bias + column;
    Index row = 0;
    const auto some = [&]<int R>() {
      tile_of_pairs<R>({in.pairs, in.a + row * in.pairs, in.pairs, in.b + column * in.pairs}, in.into, bias,
                       in.c + row * in.c_stride + column, in.c_stride, in.columns - column);
      row += R;
    };
    while (row + kTileRows <= in.rows) some.template operator()<kTileRows>();
    if (row + 4 <= in.rows) some.template operator()<4>();
    if (row + 2 <= in.rows) some.template operator()<2>();
    if (row + 1 <= in.rows) some.template operator()<1>();
  }
}

void multiply(const Multiply& call) {
  auto* a = static_cast<Pairs*>(call.scratch);
  round_rows(call.a, call.a_stride, call.rows, call.depth, a);
  multiply_panels({call.rows, call.columns, padded_depth(call.depth) / 2, a,
                   static_cast<const Pairs*>(call.packed_b), call.c, call.c_stride,
                   call.adds ? Into::kAdd : Into::kSet, call.bias});
}

void add_transposed(const AddTransposed& call) {
  auto* a = static_cast<Pairs*>(call.scratch);
  Pairs* b = a + rounded_up(call.rows, kPanel) * padded_depth(call.depth) / 2;
  round_transposed(call.a, call.a_stride, call.depth, call.rows, a);
  round_panels(call.b, call.b_stride, call.depth, call.columns, b);
  multiply_panels({call.rows, call.columns, padded_depth(call.depth) / 2, a, b, call.c, call.c_stride,
                   Into::kAdd, nullptr});
}

}  // namespace

extern const Products products;
const Products products = {"AVX-512 in bfloat16", packed_bytes, scratch_bytes, pack, multiply,
                           add_transposed};

}  // namespace headtorch::kernels::HEADTORCH_SET
