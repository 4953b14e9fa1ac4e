#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/tasks/task.hpp"

namespace headtorch::tasks::test {

using Row = std::vector<std::int64_t>;

inline std::unique_ptr<Task> make_with(const TaskOptions& options) { return make_task(options, 1); }

inline std::unique_ptr<Task> make(const std::string& name, std::uint64_t seed = 1) {
  return make_task({.name = name}, seed);
}

/// Row i of values that have `width` a row.
template <typename Value>
std::vector<Value> row(const std::vector<Value>& values, std::int64_t width, std::int64_t i) {
  return {values.begin() + i * width, values.begin() + (i + 1) * width};
}

inline Row tokens_of(const Batch& batch, std::int64_t i) { return row(batch.tokens, batch.length, i); }
inline Row labels_of(const Batch& batch, std::int64_t i) { return row(batch.labels, batch.length, i); }
inline Row source_of(const Batch& batch, std::int64_t i) {
  Row source = row(batch.source.tokens, batch.source.length, i);
  source.resize(static_cast<std::size_t>(batch.source.lengths[static_cast<std::size_t>(i)]));
  return source;
}

}  // namespace headtorch::tasks::test
