#include "src/tasks/batch.hpp"

#include <fmt/format.h>

#include "src/core/error.hpp"

namespace headtorch::tasks {
namespace {

/// Rows of `examples` equal parts of a flat array, which may be empty.
template <typename T>
std::vector<T> rows_of(const std::vector<T>& all, std::int64_t examples, std::int64_t first,
                       std::int64_t count) {
  const std::int64_t width = examples == 0 ? 0 : std::ssize(all) / examples;
  return {all.begin() + first * width, all.begin() + (first + count) * width};
}

}  // namespace

Batch unlabelled(const std::vector<std::vector<std::int64_t>>& rows) {
  if (rows.empty() || rows.front().empty()) throw DataError("input", "is empty, expected at least one token");
  Batch batch;
  batch.examples = std::ssize(rows);
  batch.length = std::ssize(rows.front());
  for (const auto& row : rows) {
    if (row.size() != rows.front().size()) {
      throw DataError("input", fmt::format("inputs of {} and {} tokens, expected one length",
                                           rows.front().size(), row.size()));
    }
    batch.tokens.insert(batch.tokens.end(), row.begin(), row.end());
  }
  batch.labels.assign(batch.tokens.size(), kNotCounted);
  return batch;
}

Batch slice(const Batch& batch, std::int64_t first, std::int64_t count) {
  const auto part = [&](const auto& all) { return rows_of(all, batch.examples, first, count); };
  const Source& source = batch.source;
  return {count,
          batch.length,
          part(batch.tokens),
          part(batch.labels),
          part(batch.features),
          part(batch.values),
          {source.length, part(source.tokens), part(source.lengths), part(source.features)},
          part(batch.lines),
          part(batch.drawn)};
}

}  // namespace headtorch::tasks
