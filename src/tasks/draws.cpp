#include "src/tasks/draws.hpp"

#include <algorithm>

namespace headtorch::tasks {

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
