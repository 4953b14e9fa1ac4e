#pragma once

#include <cstddef>
#include <memory>

namespace headtorch {

struct FreeLargePages {
  void operator()(std::byte* memory) const;
};
using LargePages = std::unique_ptr<std::byte, FreeLargePages>;

/// At least that many bytes, zero at first, aligned to 2 MiB and, where the system allows it, in pages of
/// that size: a training step goes through tens of megabytes, and with pages of 4 KiB a tenth of its time
/// goes into looking them up.
/// @throws std::bad_alloc
LargePages allocate_large_pages(std::size_t bytes);

/// What they are allocated in multiples of.
inline constexpr std::size_t kLargePage = std::size_t{1} << 21;

}  // namespace headtorch
