#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "src/tasks/task.hpp"

namespace headtorch::tasks {

inline constexpr std::int64_t kMaxSymbols = 100000, kMaxSeqLen = 4096;

/// `value`, or `fallback` for 0.  @throws ConfigError unless low <= value <= high.
std::int64_t size_in_range(std::string_view name, std::int64_t value, std::int64_t fallback, std::int64_t low,
                           std::int64_t high);

/// @throws ConfigError unless `value` is 0 or the one size that the task has.
void check_fixed_size(std::string_view name, std::int64_t value, std::int64_t only);

/// @throws Error (internal) unless first .. first+count-1 are examples of the split.
void check_examples(const Task& task, Split split, std::int64_t first, std::int64_t count);

/// Visits every sequence of `length` symbols out of n_symbols.
void for_each_sequence(std::int64_t n_symbols, std::int64_t length,
                       const std::function<void(std::span<const std::int64_t> tokens)>& visit);

}  // namespace headtorch::tasks
