#pragma once

#include <cstdint>
#include <span>

#include "src/core/philox.hpp"

namespace headtorch::tasks {

/// Symbols first .. first+count-1.
struct SymbolRange {
  std::int64_t first = 0, count = 0;
};

/// Standard normal (Box and Muller 1958).
double draw_normal(Random& random);

/// Fills `tokens` with different symbols of the range, every choice and order equally likely. The range holds
/// at least as many.
void draw_distinct(Random& random, const SymbolRange& range, std::span<std::int64_t> tokens);

}  // namespace headtorch::tasks
