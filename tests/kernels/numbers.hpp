#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>

#include "src/core/philox.hpp"

namespace headtorch::kernels::test {

/// The rule of all comparisons: a kernel's float32 number may be off by so many half ulps of the sum of the
/// magnitudes that went into it.
inline constexpr double kRoundings = 8.0;
inline double allowed(double magnitude) {
  return kRoundings * 0x1p-24 * magnitude + static_cast<double>(std::numeric_limits<float>::min());
}

/// A sum in double, with that of the magnitudes of its terms.
struct Sum {
  double value = 0.0, magnitude = 0.0;

  void add(double term) { add(term, std::abs(term)); }
  void add(double term, double its_magnitude) {
    value += term;
    magnitude += its_magnitude;
  }
};

/// Equal under the rule above. NaN equals nothing.
inline ::testing::AssertionResult close(double actual, const Sum& expected) {
  if (std::abs(actual - expected.value) <= allowed(expected.magnitude)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "got " << actual << ", expected " << expected.value << ", off by "
                                       << std::abs(actual - expected.value) / 0x1p-24 / expected.magnitude
                                       << " half ulps of the magnitudes";
}

/// An array that ends where a page begins that may not be touched: a kernel that reads or writes behind it is
/// stopped by the processor, in masked instructions too, which AddressSanitizer does not see.
template <typename T>
class Guarded {
 public:
  explicit Guarded(std::int64_t count, T value = T{}) : count_(count) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
    const std::size_t room = (bytes + page - 1) / page * page;
    void* start = mmap(nullptr, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) throw std::runtime_error("[guarded] no memory");
    pages_ = {static_cast<char*>(start), Unmap{room + page}};
    if (mprotect(pages_.get() + room, page, PROT_NONE) != 0) throw std::runtime_error("[guarded] no guard");
    data_ = reinterpret_cast<T*>(pages_.get() + room - bytes);
    std::fill(begin(), end(), value);
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::int64_t size() const { return count_; }
  T* begin() { return data_; }
  T* end() { return data_ + count_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + count_; }
  T& operator[](std::int64_t i) { return data_[i]; }
  const T& operator[](std::int64_t i) const { return data_[i]; }
  /// Where the last n begin.
  T* last(std::int64_t n) { return end() - n; }

 private:
  struct Unmap {
    std::size_t bytes = 0;
    void operator()(char* start) const { munmap(start, bytes); }
  };
  std::int64_t count_;
  std::unique_ptr<char, Unmap> pages_;
  T* data_ = nullptr;
};

using Floats = Guarded<float>;

/// Memory that a kernel wants aligned to 64.
inline Guarded<char> aligned_bytes(std::size_t bytes) {
  if (bytes % 64 != 0)
    throw std::runtime_error("[aligned_bytes] not whole vectors: " + std::to_string(bytes));
  return Guarded<char>(static_cast<std::int64_t>(bytes), static_cast<char>(0xff));  // NaN, as floats
}

/// Numbers even on -largest .. largest.
inline Floats random_floats(Random& random, std::int64_t count, double largest = 1.0) {
  Floats out(count);
  for (float& x : out) x = static_cast<float>((2.0 * random.uniform() - 1.0) * largest);
  return out;
}

inline Floats copy_of(const Floats& from) {
  Floats out(from.size());
  std::copy(from.begin(), from.end(), out.begin());
  return out;
}

/// Uniform on low .. high.
inline std::int64_t between(Random& random, std::int64_t low, std::int64_t high) {
  return low + random.below(high - low + 1);
}

/// A mask of dropout with the four bytes behind it that kernels may read, and its decisions one by one.
struct Mask {
  Mask(Random& random, std::int64_t count, double p) : bits((count + 7) / 8 + 4, 0xff) {
    for (std::int64_t e = 0; e < count; ++e) {
      if (random.uniform() < p) bits[e / 8] = static_cast<std::uint8_t>(bits[e / 8] & ~(1u << e % 8));
    }
  }
  bool kept(std::int64_t e) const { return (bits[e / 8] >> e % 8 & 1) != 0; }

  Guarded<std::uint8_t> bits;
};

inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace headtorch::kernels::test
