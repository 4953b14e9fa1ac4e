#pragma once

#include <cstdint>
#include <vector>

#include "src/tasks/task.hpp"

namespace headtorch::tasks {

/// Which of n stored examples is example i of a split: in training each once an epoch, in an order that
/// (seed, epoch) decides; in the other splits number i. For examples asked for in ascending order.
class Epochs {
 public:
  Epochs(std::uint64_t seed, Split split, std::int64_t n);
  std::size_t at(std::int64_t index);

 private:
  std::uint64_t seed_;
  Split split_;
  std::int64_t epoch_ = -1;
  std::vector<std::int64_t> order_;
};

/// Examples of a split with n stored ones: n, or no end in training.
std::int64_t size_of(Split split, std::size_t n);

}  // namespace headtorch::tasks
