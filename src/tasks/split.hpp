#pragma once

#include <cstdint>
#include <span>

#include "src/tasks/task.hpp"

namespace headtorch::tasks {

/// How many tenths of all inputs are kept from training.
struct SplitTenths {
  std::int64_t test = 1, validation = 1;
};

/// The split that a sequence belongs to, whoever draws it: XXH3 of its tokens, mod 10; the lowest values are
/// test, the next validation, the rest train. No example can be in two splits, for any seed, and nothing has
/// to be remembered.
Split split_of(std::span<const std::int64_t> tokens, const SplitTenths& tenths = {});

}  // namespace headtorch::tasks
