#pragma once

#include <cstdint>

namespace headtorch::kernels {

/// Which elements dropout keeps, a bit each: bit e % 8 of byte e / 8 is element e's. Four bytes behind the
/// last one are read. Philox decides as fill_dropout_mask (src/core/philox.hpp) does, bit for bit on every
/// processor.
struct DropoutBits {
  const std::uint8_t* bits = nullptr;  ///< null: all are kept
  float scale = 1.0F;                  ///< factor on what is kept
};

/// Draws bits of elements first .. first+count-1 of the stream; element `first` gets bit 0.
struct DrawDropout {
  std::uint64_t key = 0, stream = 0, first = 0;
  std::int64_t count = 0;
  std::uint32_t threshold = 0;   ///< dropout_threshold of the probability
  std::uint8_t* bits = nullptr;  ///< out; (count + 7) / 8 + kDropoutSlack bytes
};

/// y = scale * x where kept, else 0; in place or not.
struct ApplyDropout {
  std::int64_t count = 0;
  const float* x = nullptr;
  DropoutBits dropout = {};
  float* y = nullptr;
};

/// Bytes behind a mask that may be written and read.
inline constexpr std::int64_t kDropoutSlack = 64;

}  // namespace headtorch::kernels
