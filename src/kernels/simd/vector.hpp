#pragma once

#include <immintrin.h>

#include <cstdint>

// One vector of float32 lanes, for the instruction set that this file is compiled for. Sources in this folder
// are compiled once for each, in a namespace of its own (HEADTORCH_SET): they must not use inline functions
// of other headers, of which the linker would keep one copy for all processors.

namespace headtorch::kernels::HEADTORCH_SET {

#define HEADTORCH_INLINE inline __attribute__((always_inline))

using Index = std::int64_t;

#if defined(__AVX512F__)
inline constexpr Index kLanes = 16;
using Vec = __m512;
using VecInt = int __attribute__((vector_size(64)));

HEADTORCH_INLINE Vec load(const float* p) { return _mm512_loadu_ps(p); }
HEADTORCH_INLINE void store(float* p, Vec v) { _mm512_storeu_ps(p, v); }
HEADTORCH_INLINE Vec splat(float x) { return _mm512_set1_ps(x); }
HEADTORCH_INLINE __mmask16 first_lanes(Index n) { return static_cast<__mmask16>((1u << n) - 1u); }
/// The first n of the lanes (1 <= n <= kLanes), 0 in the others; memory behind them is not read.
HEADTORCH_INLINE Vec load_first(const float* p, Index n) { return _mm512_maskz_loadu_ps(first_lanes(n), p); }
HEADTORCH_INLINE void store_first(float* p, Vec v, Index n) { _mm512_mask_storeu_ps(p, first_lanes(n), v); }
/// As load_first, with `other` in the other lanes.
HEADTORCH_INLINE Vec load_first_or(const float* p, Index n, Vec other) {
  return _mm512_mask_loadu_ps(other, first_lanes(n), p);
}
HEADTORCH_INLINE float sum(Vec v) { return _mm512_reduce_add_ps(v); }
HEADTORCH_INLINE float largest(Vec v) { return _mm512_reduce_max_ps(v); }
HEADTORCH_INLINE Vec square_root(Vec v) { return _mm512_sqrt_ps(v); }
/// v where the bit is 1, else 0; the lowest bit is the first lane's.
HEADTORCH_INLINE Vec keep(Vec v, std::uint32_t bits) {
  return _mm512_maskz_mov_ps(static_cast<__mmask16>(bits), v);
}
/// Lanes 2 i and 2 i + 1 change places.
HEADTORCH_INLINE Vec swap_pairs(Vec v) { return _mm512_permute_ps(v, 0xB1); }
HEADTORCH_INLINE Vec reciprocal(Vec x) {  // to 1e-7, relative, for finite x that are not tiny
  const Vec guess = _mm512_rcp14_ps(x);
  return guess * (splat(2.0F) - x * guess);
}
#else
inline constexpr Index kLanes = 8;
using Vec = __m256;
using VecInt = int __attribute__((vector_size(32)));

HEADTORCH_INLINE Vec load(const float* p) { return _mm256_loadu_ps(p); }
HEADTORCH_INLINE void store(float* p, Vec v) { _mm256_storeu_ps(p, v); }
HEADTORCH_INLINE Vec splat(float x) { return _mm256_set1_ps(x); }
HEADTORCH_INLINE __m256i first_lanes(Index n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)),
                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
/// The first n of the lanes (1 <= n <= kLanes), 0 in the others; memory behind them is not read.
HEADTORCH_INLINE Vec load_first(const float* p, Index n) { return _mm256_maskload_ps(p, first_lanes(n)); }
HEADTORCH_INLINE void store_first(float* p, Vec v, Index n) { _mm256_maskstore_ps(p, first_lanes(n), v); }
/// As load_first, with `other` in the other lanes.
HEADTORCH_INLINE Vec load_first_or(const float* p, Index n, Vec other) {
  return _mm256_blendv_ps(other, load_first(p, n), _mm256_castsi256_ps(first_lanes(n)));
}
HEADTORCH_INLINE float sum(Vec v) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
HEADTORCH_INLINE float largest(Vec v) {
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}
HEADTORCH_INLINE Vec square_root(Vec v) { return _mm256_sqrt_ps(v); }
/// v where the bit is 1, else 0; the lowest bit is the first lane's.
HEADTORCH_INLINE Vec keep(Vec v, std::uint32_t bits) {
  const __m256i lane_bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  const __m256i set = _mm256_and_si256(_mm256_set1_epi32(static_cast<int>(bits)), lane_bit);
  return _mm256_and_ps(v, _mm256_castsi256_ps(_mm256_cmpeq_epi32(set, lane_bit)));
}
/// Lanes 2 i and 2 i + 1 change places.
HEADTORCH_INLINE Vec swap_pairs(Vec v) { return _mm256_permute_ps(v, 0xB1); }
HEADTORCH_INLINE Vec reciprocal(Vec x) { return splat(1.0F) / x; }
#endif

/// n >= kLanes: all of them.
HEADTORCH_INLINE Vec load_up_to(const float* p, Index n) { return n >= kLanes ? load(p) : load_first(p, n); }
HEADTORCH_INLINE void store_up_to(float* p, Vec v, Index n) {
  if (n >= kLanes) {
    store(p, v);
  } else {
    store_first(p, v, n);
  }
}

HEADTORCH_INLINE Vec zero() { return splat(0.0F); }
HEADTORCH_INLINE constexpr Index smaller(Index a, Index b) { return a < b ? a : b; }
/// NaN in b stays.
HEADTORCH_INLINE Vec larger(Vec a, Vec b) { return a > b ? a : b; }

/// kLanes bits of a mask from an element that need not be a multiple of 8; up to 4 bytes from the first are
/// read.
HEADTORCH_INLINE std::uint32_t bits_at(const std::uint8_t* mask, Index element) {
  std::uint32_t word;
  __builtin_memcpy(&word, mask + (element >> 3), sizeof word);
  return word >> (element & 7);
}

/// e^x for x <= 88, to 1.2e-7 relative; 0 below -87. NaN stays.  Cephes' expf: range reduction by
/// ln 2 in two parts, then a polynomial.
HEADTORCH_INLINE Vec exponential(Vec x) {
  const Vec given = x;
  x = larger(splat(-87.0F), x);
  // 1.5 * 2^23: adding it rounds to an integer, which is then in its bits; 127: an exponent's bias.
  const Vec magic = splat(12582912.0F + 127.0F);
  const Vec shifted = x * splat(1.44269504F) + magic;
  const Vec n = shifted - magic;
  const Vec power_of_two = (Vec)((VecInt)shifted << 23);
  const Vec r = (x - n * splat(0.693359375F)) + n * splat(2.12194440e-4F);
  Vec p = splat(1.9875691500e-4F);
  p = p * r + splat(1.3981999507e-3F);
  p = p * r + splat(8.3334519073e-3F);
  p = p * r + splat(4.1665795894e-2F);
  p = p * r + splat(1.6666665459e-1F);
  p = p * r + splat(5.0000001201e-1F);
  p = p * (r * r) + r + splat(1.0F);
  return given < splat(-87.0F) ? zero() : p * power_of_two;
}

}  // namespace headtorch::kernels::HEADTORCH_SET
