#include "train/engine/arena.hpp"

#include <algorithm>

namespace headtorch::train::engine {

std::byte* Arena::take(std::int64_t count, std::size_t size) {
  constexpr std::size_t kLine = 64;
  const std::size_t wanted = (static_cast<std::size_t>(count) * size + 2 * kLine - 1) / kLine * kLine;
  if (wanted > left_) {
    left_ = std::max((wanted + kLargePage - 1) / kLargePage * kLargePage, kLargePage);
    blocks_.push_back(allocate_large_pages(left_));
    next_ = blocks_.back().get();
  }
  std::byte* const taken = next_;
  next_ += wanted;
  left_ -= wanted;
  return taken;
}

}  // namespace headtorch::train::engine
