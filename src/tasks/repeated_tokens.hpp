#pragma once

#include <cstdint>
#include <vector>

#include "src/tasks/task.hpp"

namespace headtorch::tasks {

/// Random tokens of length floor(T/2) followed by themselves: what induction scores are measured on (Olsson
/// et al. 2022, arXiv:2209.11895). Within a half tokens are distinct when the vocabulary is large enough. Row
/// i is a function of (seed, i).  @returns n rows of 2 floor(T/2) tokens; none when T < 4 or n_symbols < 2.
std::vector<std::vector<std::int64_t>> repeated_tokens(const TaskShape& shape, std::int64_t n,
                                                       std::uint64_t seed);

}  // namespace headtorch::tasks
