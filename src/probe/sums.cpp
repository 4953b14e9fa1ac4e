#include "src/probe/sums.hpp"

#include <bit>
#include <cstdint>

// Twice as many lanes where the processor has them: chosen when the program starts.
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && __GNUC__ >= 12
#define HEADTORCH_LANES [[gnu::target_clones("arch=x86-64-v3", "default")]]
#else
#define HEADTORCH_LANES
#endif

namespace headtorch::probe {
namespace {

constexpr double kLeast = 1e-300;

/// ln x of a normal x > 0, within 2e-16 relative to max(1, |ln x|), without branches or calls: x = 2^n (1 +
/// f) with 1 + f in [sqrt(1/2), sqrt(2)), ln(1 + f) = 2 artanh s, s = f / (2 + f) (Abramowitz and Stegun
/// 1964, 4.1.27), eleven terms of the series.
inline double ln(double x) {
  constexpr std::uint64_t kSqrtHalf = std::bit_cast<std::uint64_t>(0x1.6a09e667f3bcdp-1);
  constexpr std::uint64_t kExponent = 0xFFFULL << 52, kBias = 1024ULL << 52;
  constexpr double kTwo52 = 0x1p52, kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t shifted = bits - kSqrtHalf + kBias;  // its exponent is n + 1024
  // A whole number below 2^52 behind the exponent of 2^52 is 2^52 more than itself.
  const double n =
      std::bit_cast<double>((shifted >> 52) | std::bit_cast<std::uint64_t>(kTwo52)) - (kTwo52 + 1024.0);
  const double f = std::bit_cast<double>(bits - ((shifted & kExponent) - kBias)) - 1.0;
  const double s = f / (2.0 + f), z = s * s;
  const double w = z * z;  // terms in turn: two sums side by side
  const double even = 2.0 / 3 + w * (2.0 / 7 + w * (2.0 / 11 + w * (2.0 / 15 + w * (2.0 / 19))));
  const double odd = 2.0 / 5 + w * (2.0 / 9 + w * (2.0 / 13 + w * (2.0 / 17 + w * (2.0 / 21))));
  const double series = even + z * odd;
  // 2 s = f - s f, and s f = f^2 / 2 - s f^2 / 2: the rounding of s then hardly counts.
  const double half = 0.5 * f * f;
  return n * kLn2High + (f - (half - (s * (half + series * z) + n * kLn2Low)));
}

}  // namespace

HEADTORCH_LANES double sum_of(std::span<const double> x) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t j = 0; j < x.size(); ++j) sum += x[j];
  return sum;
}

HEADTORCH_LANES double entropy_of(std::span<const double> x) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t j = 0; j < x.size(); ++j) sum += x[j] * ln(x[j] > kLeast ? x[j] : kLeast);
  return -sum;
}

HEADTORCH_LANES double log_sum(std::span<const double> mass, std::span<const double> k0, double a, double b) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t j = 0; j < mass.size(); ++j) sum += mass[j] * ln(a * k0[j] + b);
  return sum;
}

HEADTORCH_LANES RatioSums ratio_sums(std::span<const double> mass, std::span<const double> k0,
                                     const RatioTerms& terms) {
  const double scale = terms.scale, uniform = terms.uniform, eps = terms.eps;
  double first = 0.0, second = 0.0;
#pragma omp simd reduction(+ : first, second)
  for (std::size_t j = 0; j < mass.size(); ++j) {
    const double named = scale * k0[j], change = uniform - named;
    const double ratio = change / (named + eps * change);
    first += mass[j] * ratio;
    second += mass[j] * ratio * ratio;
  }
  return {first, second};
}

}  // namespace headtorch::probe
