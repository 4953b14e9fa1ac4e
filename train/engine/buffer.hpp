#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace headtorch::train::engine {

/// Memory aligned for vectors, zero at first, with a cache line behind its end that kernels may read.
template <typename T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::int64_t count) {
    constexpr std::size_t kAlignment = 64;
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
    const std::size_t whole = (bytes + 2 * kAlignment - 1) / kAlignment * kAlignment;
    auto* data = static_cast<T*>(std::aligned_alloc(kAlignment, whole));
    if (data == nullptr) throw std::bad_alloc();
    std::fill_n(reinterpret_cast<std::byte*>(data), whole, std::byte{0});
    data_.reset(data);
  }

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(T* data) const { std::free(data); }
  };
  std::unique_ptr<T, Free> data_;
};

using Floats = Buffer<float>;
using Bytes = Buffer<std::uint8_t>;

}  // namespace headtorch::train::engine
