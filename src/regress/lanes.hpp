#pragma once

#include <cstdint>
#include <cstring>

// Four doubles at once in GCC's vector types: one register on AVX, two on SSE2. (GCC 12 keeps eight in memory
// where registers hold four.)

// One function body, compiled for each instruction set and chosen once at start.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define HEADTORCH_EACH_FLOAT_UNIT __attribute__((target_clones("fma", "default")))
#else
#define HEADTORCH_EACH_FLOAT_UNIT
#endif
#define HEADTORCH_INLINE inline __attribute__((always_inline))

namespace headtorch::regress {

constexpr int kLanes = 4;
using Lanes __attribute__((vector_size(32))) = double;
using BitLanes __attribute__((vector_size(32))) = std::uint64_t;

HEADTORCH_INLINE void load(Lanes& to, const double* from) { std::memcpy(&to, from, sizeof to); }
HEADTORCH_INLINE void store(double* to, const Lanes& from) { std::memcpy(to, &from, sizeof from); }

/// v becomes exp(v), to 1e-15 of it, for v <= 0; below -700 exp(-700) = 1e-304.
HEADTORCH_INLINE void exp_in_place(Lanes& v) {
  constexpr double kLog2E = 0x1.71547652b82fep0, kRound = 0x1.8p52;
  constexpr double kLn2High = 0x1.62e42fefa0000p-1, kLn2Low = 0x1.cf79abc9e3b3ap-40;
  constexpr double kInverseFactorial[] = {1.0 / 6227020800.0,
                                          1.0 / 479001600.0,
                                          1.0 / 39916800.0,
                                          1.0 / 3628800.0,
                                          1.0 / 362880.0,
                                          1.0 / 40320.0,
                                          1.0 / 5040.0,
                                          1.0 / 720.0,
                                          1.0 / 120.0,
                                          1.0 / 24.0,
                                          1.0 / 6.0,
                                          1.0 / 2.0,
                                          1.0,
                                          1.0};
  v = v > -700.0 ? v : Lanes{} - 700.0;
  const Lanes rounded = v * kLog2E + kRound;  // its low bits are the power of two
  const Lanes power = rounded - kRound;
  const Lanes rest = (v - power * kLn2High) - power * kLn2Low;  // |rest| <= ln(2) / 2
  Lanes sum = Lanes{} + kInverseFactorial[0];
  for (int k = 1; k < 14; ++k) sum = sum * rest + kInverseFactorial[k];
  v = (Lanes)((BitLanes)sum + ((BitLanes)rounded << 52));
}

}  // namespace headtorch::regress
