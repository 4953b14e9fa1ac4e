#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace headtorch {

/// Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"): four random words from
/// a 128-bit counter and a 64-bit key, the same on every processor.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::uint64_t key);

/// Random numbers as a function of (seed, stream, draw number): no hidden state, so that example i is the
/// same whether or not the examples before it were drawn. `stream` names the use, for example a split or an
/// example's index.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t stream, std::uint64_t substream = 0);

  std::uint32_t word();
  /// Uniform on 0 .. n-1 without bias; n >= 1.
  std::int64_t below(std::int64_t n);
  /// Uniform on [0, 1) with 53 bits.
  double uniform();
  /// Fisher-Yates.
  void shuffle(std::span<std::int64_t> values);

 private:
  std::uint64_t key_;
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 4> block_{};
  int used_ = 4;
};

/// Below it, of 65536, a decision drops: p rounded to 1/65536.
std::uint32_t dropout_threshold(double p);
/// The factor on what is kept, so that the mean of a mask is 1.
float dropout_scale(std::uint32_t threshold);
/// The stream of a mask: `place` counts the masks of one step, fewer than 65536.
constexpr std::uint64_t dropout_stream(std::int64_t step, std::uint64_t place) {
  return (static_cast<std::uint64_t>(step) << 16) + place;
}

/// Fills `mask` with 0 (probability p, rounded to 1/65536) or 1/(1-p), so that its mean is 1. Element e of
/// the mask is 16-bit word `(first_element + e) % 8` of Philox block `(first_element + e) / 8` at (key,
/// stream): a slice of a batch draws the same decisions as the whole.
void fill_dropout_mask(std::span<float> mask, double p, std::uint64_t key, std::uint64_t stream,
                       std::uint64_t first_element);

}  // namespace headtorch
