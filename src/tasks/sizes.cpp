#include "src/tasks/sizes.hpp"

#include <fmt/format.h>

#include <vector>

#include "src/core/error.hpp"

namespace headtorch::tasks {

std::int64_t size_in_range(std::string_view name, std::int64_t value, std::int64_t fallback, std::int64_t low,
                           std::int64_t high) {
  if (value == 0) return fallback;
  if (value < low || value > high) {
    throw ConfigError("task", fmt::format("{} = {}: expected {} to {}", name, value, low, high));
  }
  return value;
}

void check_fixed_size(std::string_view name, std::int64_t value, std::int64_t only) {
  if (value == 0 || value == only) return;
  throw ConfigError("task",
                    fmt::format("{} = {}: expected {}, the only size of this task", name, value, only));
}

void check_examples(const Task& task, Split split, std::int64_t first, std::int64_t count) {
  if (first < 0 || count < 0 || first > task.size(split) - count) {
    throw Error(ExitCode::kInternal, "tasks",
                fmt::format("asked for {} examples from number {} of a split with {}", count, first,
                            task.size(split)));
  }
}

void for_each_sequence(std::int64_t n_symbols, std::int64_t length,
                       const std::function<void(std::span<const std::int64_t> tokens)>& visit) {
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(length), 0);
  while (true) {
    visit(tokens);
    std::size_t place = 0;
    while (place < tokens.size() && ++tokens[place] == n_symbols) tokens[place++] = 0;
    if (place == tokens.size()) return;
  }
}

}  // namespace headtorch::tasks
