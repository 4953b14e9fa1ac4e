#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/core/large_pages.hpp"

namespace headtorch::train::engine {

/// Memory of an arena: aligned to a cache line, zero at first, with one more behind it that kernels may read.
template <typename T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(T* data) : data_(data) {}
  T* data() { return data_; }
  const T* data() const { return data_; }

 private:
  T* data_ = nullptr;
};

using Floats = Buffer<float>;
using Bytes = Buffer<std::uint8_t>;

/// Hands out memory that lives as long as it, side by side in large pages: a step goes through tens of
/// megabytes, and with pages of 4 KiB a tenth of its time goes into looking them up.
class Arena {
 public:
  /// @throws std::bad_alloc
  Floats floats(std::int64_t count) { return Floats(reinterpret_cast<float*>(take(count, sizeof(float)))); }
  Bytes bytes(std::int64_t count) { return Bytes(reinterpret_cast<std::uint8_t*>(take(count, 1))); }

 private:
  std::byte* take(std::int64_t count, std::size_t size);

  std::vector<LargePages> blocks_;
  std::byte* next_ = nullptr;
  std::size_t left_ = 0;  // bytes of the last block
};

}  // namespace headtorch::train::engine
