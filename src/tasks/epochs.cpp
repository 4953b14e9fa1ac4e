#include "src/tasks/epochs.hpp"

#include <limits>
#include <numeric>

#include "src/core/philox.hpp"

namespace headtorch::tasks {
namespace {

constexpr std::uint64_t kStream = 0x7465'0000;  // keeps these draws apart from other uses of the seed

}  // namespace

Epochs::Epochs(std::uint64_t seed, Split split, std::int64_t n)
    : seed_(seed), split_(split), order_(static_cast<std::size_t>(n)) {}

std::size_t Epochs::at(std::int64_t index) {
  if (split_ != Split::kTrain) return static_cast<std::size_t>(index);
  const auto n = static_cast<std::int64_t>(order_.size());
  if (index / n != epoch_) {
    epoch_ = index / n;
    std::iota(order_.begin(), order_.end(), 0);
    Random random(seed_, static_cast<std::uint64_t>(epoch_), kStream);
    random.shuffle(order_);
  }
  return static_cast<std::size_t>(order_[static_cast<std::size_t>(index % n)]);
}

std::int64_t size_of(Split split, std::size_t n) {
  return split == Split::kTrain ? std::numeric_limits<std::int64_t>::max() : static_cast<std::int64_t>(n);
}

}  // namespace headtorch::tasks
