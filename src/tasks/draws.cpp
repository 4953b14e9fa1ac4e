#include "src/tasks/draws.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace headtorch::tasks {

double draw_normal(Random& random) {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - random.uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * random.uniform());
}

void draw_distinct(Random& random, const SymbolRange& range, std::span<std::int64_t> tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto used = tokens.first(i);
    std::int64_t symbol = 0;
    do {
      symbol = range.first + random.below(range.count);
    } while (std::find(used.begin(), used.end(), symbol) != used.end());
    tokens[i] = symbol;
  }
}

}  // namespace headtorch::tasks
