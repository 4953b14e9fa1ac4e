#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/tasks/rows.hpp"
#include "src/tasks/task.hpp"
#include "src/tasks/vocabulary.hpp"

namespace headtorch::tasks {

/// A series as a sequence: the lags of one row, oldest first, a token each with one feature, the scaled
/// value. The label is at the last position. Training takes each training row once an epoch.
class LagsTask final : public Task {
 public:
  /// seq_len is the number of lags.  @throws ConfigError for another one.
  LagsTask(const TaskOptions& options, Rows rows, std::uint64_t seed);

  const TaskShape& shape() const override { return shape_; }
  Batch batch(Split split, std::int64_t first, std::int64_t count) const override;
  std::int64_t size(Split split) const override;
  std::string token_text(std::int64_t token) const override { return vocabulary_.text(token); }
  std::vector<std::int64_t> parse_tokens(std::string_view input) const override;
  /// "lag 12 (101.3)".
  std::string position_text(const Batch& batch, std::size_t at) const override;

  const Rows& rows() const { return rows_; }
  /// Rows of features x that the file need not hold, unscaled.
  Batch asked(std::span<const double> x) const;

 private:
  void add(Batch& batch, std::span<const double> x, float value) const;

  Rows rows_;
  std::uint64_t seed_;
  TaskShape shape_;
  Vocabulary vocabulary_{0, {"lag"}};
};

}  // namespace headtorch::tasks
