#pragma once

#include "src/kernels/simd/tile.hpp"

namespace headtorch::kernels::HEADTORCH_SET {

#if defined(__AVX512F__)
/// out[c, r] = in[r, c] for kLanes rows and columns: in each of four rounds, blocks of `step` lanes change
/// places between rows that are `step` apart.
HEADTORCH_INLINE void transpose_square(const float* in, Index in_stride, float* out, Index out_stride) {
  __m512 row[16];
#pragma GCC unroll 16
  for (int r = 0; r < 16; ++r) row[r] = load(in + r * in_stride);
  const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#pragma GCC unroll 4
  for (int step = 1; step < 16; step *= 2) {
    const __mmask16 upper = _mm512_test_epi32_mask(lane, _mm512_set1_epi32(step));
    const __m512i by_step = _mm512_set1_epi32(step);
    // Indices of 16 and more name lanes of the second operand.
    const __m512i low = _mm512_mask_add_epi32(lane, upper, lane, _mm512_set1_epi32(16 - step));
    const __m512i high =
        _mm512_mask_add_epi32(_mm512_add_epi32(lane, by_step), upper, lane, _mm512_set1_epi32(16));
#pragma GCC unroll 16
    for (int r = 0; r < 16; ++r) {
      if ((r & step) != 0) continue;
      const __m512 first = row[r], second = row[r + step];
      row[r] = _mm512_permutex2var_ps(first, low, second);
      row[r + step] = _mm512_permutex2var_ps(first, high, second);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < 16; ++r) store(out + r * out_stride, row[r]);
}
#else
HEADTORCH_INLINE void transpose_square(const float* in, Index in_stride, float* out, Index out_stride) {
  for (Index c = 0; c < kLanes; ++c) {
    for (Index r = 0; r < kLanes; ++r) out[c * out_stride + r] = in[r * in_stride + c];
  }
}
#endif

/// out[c, r] = in[r, c].
HEADTORCH_INLINE void transpose(const float* in, Index in_stride, Index rows, Index columns, float* out,
                                Index out_stride) {
  for (Index r0 = 0; r0 < rows; r0 += kLanes) {
    for (Index c0 = 0; c0 < columns; c0 += kLanes) {
      const Index r_end = smaller(rows, r0 + kLanes), c_end = smaller(columns, c0 + kLanes);
      if (r_end - r0 == kLanes && c_end - c0 == kLanes) {
        transpose_square(in + r0 * in_stride + c0, in_stride, out + c0 * out_stride + r0, out_stride);
        continue;
      }
      for (Index c = c0; c < c_end; ++c) {
        for (Index r = r0; r < r_end; ++r) out[c * out_stride + r] = in[r * in_stride + c];
      }
    }
  }
}

/// A [rows, depth] in panels of kPanel of its rows, each [depth, kPanel]: the right-hand side of a product
/// with its transpose. Columns behind the last row are 0.
HEADTORCH_INLINE void transpose_into_panels(const float* in, Index in_stride, Index rows, Index depth,
                                            float* panels) {
  for (Index row = 0; row < rows; row += kPanel) {
    const Index here = smaller(kPanel, rows - row);
    if (here < kPanel)
      __builtin_memset(panels, 0, static_cast<unsigned long>(depth * kPanel) * sizeof(float));
    transpose(in + row * in_stride, in_stride, here, depth, panels, kPanel);
    panels += depth * kPanel;
  }
}

}  // namespace headtorch::kernels::HEADTORCH_SET
