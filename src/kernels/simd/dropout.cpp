#include "src/kernels/simd/declarations.hpp"
#include "src/kernels/simd/vector.hpp"

// Philox4x32-10 as src/core/philox.cpp has it, many blocks at once: 64-bit lanes hold one word of a block
// each.

namespace headtorch::kernels::HEADTORCH_SET {
namespace {

constexpr std::uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;

/// The stream's decisions, 64 at a time: element e is bit e % 64 of word e / 64.
class Decisions {
 public:
  explicit Decisions(const DrawDropout& call) : call_(call) {}

#if defined(__AVX512F__)
  std::uint64_t word(std::uint64_t index) const {
    // The order of blocks in lanes is such that the two interleavings below hold blocks 0 to 3 and 4 to 7.
    const __m512i order = _mm512_set_epi64(7, 3, 6, 2, 5, 1, 4, 0);
    const __m512i m0 = _mm512_set1_epi64(static_cast<long long>(kMultiplier0));
    const __m512i m1 = _mm512_set1_epi64(static_cast<long long>(kMultiplier1));
    __m512i c0 = _mm512_add_epi64(_mm512_set1_epi64(static_cast<long long>(index * 8)), order);
    __m512i c1 = _mm512_srli_epi64(c0, 32);
    __m512i c2 = _mm512_set1_epi64(static_cast<long long>(call_.stream));
    __m512i c3 = _mm512_srli_epi64(c2, 32);
    auto key0 = static_cast<std::uint32_t>(call_.key), key1 = static_cast<std::uint32_t>(call_.key >> 32);
#pragma GCC unroll 10
    for (int round = 0; round < 10; ++round) {
      const __m512i p0 = _mm512_mul_epu32(c0, m0), p1 = _mm512_mul_epu32(c2, m1);
      c0 = _mm512_ternarylogic_epi64(_mm512_srli_epi64(p1, 32), c1, _mm512_set1_epi64(key0), 0x96);
      c2 = _mm512_ternarylogic_epi64(_mm512_srli_epi64(p0, 32), c3, _mm512_set1_epi64(key1), 0x96);
      c1 = p1;
      c3 = p0;
      key0 += kWeyl0;
      key1 += kWeyl1;
    }
    const __m512i low = _mm512_mask_blend_epi32(0xAAAA, c0, _mm512_slli_epi64(c1, 32));
    const __m512i high = _mm512_mask_blend_epi32(0xAAAA, c2, _mm512_slli_epi64(c3, 32));
    const __m512i threshold = _mm512_set1_epi16(static_cast<short>(call_.threshold));
    return _mm512_cmpge_epu16_mask(_mm512_unpacklo_epi64(low, high), threshold) |
           static_cast<std::uint64_t>(_mm512_cmpge_epu16_mask(_mm512_unpackhi_epi64(low, high), threshold))
               << 32;
  }
#else
  std::uint64_t word(std::uint64_t index) const { return half(2 * index) | half(2 * index + 1) << 32; }

 private:
  std::uint64_t half(std::uint64_t index) const {
    const __m256i m0 = _mm256_set1_epi64x(static_cast<long long>(kMultiplier0));
    const __m256i m1 = _mm256_set1_epi64x(static_cast<long long>(kMultiplier1));
    __m256i c0 = _mm256_add_epi64(_mm256_set1_epi64x(static_cast<long long>(index * 4)),
                                  _mm256_set_epi64x(3, 2, 1, 0));
    __m256i c1 = _mm256_srli_epi64(c0, 32);
    __m256i c2 = _mm256_set1_epi64x(static_cast<long long>(call_.stream));
    __m256i c3 = _mm256_srli_epi64(c2, 32);
    auto key0 = static_cast<std::uint32_t>(call_.key), key1 = static_cast<std::uint32_t>(call_.key >> 32);
#pragma GCC unroll 10
    for (int round = 0; round < 10; ++round) {
      const __m256i p0 = _mm256_mul_epu32(c0, m0), p1 = _mm256_mul_epu32(c2, m1);
      c0 = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p1, 32), c1), _mm256_set1_epi64x(key0));
      c2 = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p0, 32), c3), _mm256_set1_epi64x(key1));
      c1 = p1;
      c3 = p0;
      key0 += kWeyl0;
      key1 += kWeyl1;
    }
    const __m256i low = _mm256_blend_epi32(c0, _mm256_slli_epi64(c1, 32), 0xAA);
    const __m256i high = _mm256_blend_epi32(c2, _mm256_slli_epi64(c3, 32), 0xAA);
    // Signed comparisons of numbers whose highest bit is turned; the pack then puts blocks 0 to 3 in order.
    const __m256i turn = _mm256_set1_epi16(static_cast<short>(0x8000));
    const __m256i threshold = _mm256_set1_epi16(static_cast<short>(call_.threshold ^ 0x8000u));
    const auto dropped = [&](__m256i words) {
      return _mm256_cmpgt_epi16(threshold, _mm256_xor_si256(words, turn));
    };
    const __m256i both = _mm256_packs_epi16(dropped(_mm256_unpacklo_epi64(low, high)),
                                            dropped(_mm256_unpackhi_epi64(low, high)));
    return ~static_cast<std::uint32_t>(_mm256_movemask_epi8(both));
  }
#endif

 private:
  const DrawDropout& call_;
};

}  // namespace

void draw_dropout(const DrawDropout& call) {
  const Index words = (call.count + 63) / 64;
  if (call.threshold > 0xffff) {  // more than a lane of 16 bits holds: all are dropped
    __builtin_memset(call.bits, 0, static_cast<unsigned long>(words) * 8);
    return;
  }
  const Decisions decisions(call);
  const std::uint64_t first = call.first / 64;
  const unsigned shift = static_cast<unsigned>(call.first % 64);
  std::uint64_t next = shift == 0 ? 0 : decisions.word(first);
  for (Index i = 0; i < words; ++i) {
    std::uint64_t bits;
    if (shift == 0) {
      bits = decisions.word(first + static_cast<std::uint64_t>(i));
    } else {
      const std::uint64_t current = next;
      next = decisions.word(first + static_cast<std::uint64_t>(i) + 1);
      bits = current >> shift | next << (64 - shift);
    }
    __builtin_memcpy(call.bits + 8 * i, &bits, sizeof bits);
  }
}

}  // namespace headtorch::kernels::HEADTORCH_SET
