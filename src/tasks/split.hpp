#pragma once

#include <cstdint>
#include <span>

#include "src/tasks/task.hpp"

namespace headtorch::tasks {

/// The split that a sequence belongs to, whoever draws it: XXH3 of its tokens, mod 10; 0 is test, 1
/// validation, the rest train. No example can be in two splits, for any seed, and nothing has to be
/// remembered.
Split split_of(std::span<const std::int64_t> tokens);

}  // namespace headtorch::tasks
