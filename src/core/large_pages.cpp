#include "src/core/large_pages.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace headtorch {

void FreeLargePages::operator()(std::byte* memory) const { std::free(memory); }

LargePages allocate_large_pages(std::size_t bytes) {
  const std::size_t whole = std::max((bytes + kLargePage - 1) / kLargePage * kLargePage, kLargePage);
  LargePages memory(static_cast<std::byte*>(std::aligned_alloc(kLargePage, whole)));
  if (memory == nullptr) throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
  madvise(memory.get(), whole, MADV_HUGEPAGE);  // a wish: small pages do as well
#endif
  std::fill_n(memory.get(), whole, std::byte{0});
  return memory;
}

}  // namespace headtorch
