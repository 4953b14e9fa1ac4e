#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/tasks/task.hpp"
#include "src/tasks/vocabulary.hpp"

namespace headtorch::tasks {

/// A task with a label at every position, read from source to target: the source is the sequence, the target
/// the start token n_classes and then the answers, each position labelled with the next answer.
class TargetForm final : public Task {
 public:
  explicit TargetForm(std::unique_ptr<Task> task);

  const TaskShape& shape() const override { return shape_; }
  Batch batch(Split split, std::int64_t first, std::int64_t count) const override;
  std::int64_t size(Split split) const override { return task_->size(split); }
  std::string token_text(std::int64_t token) const override { return answers_.text(token); }
  std::vector<std::int64_t> parse_tokens(std::string_view input) const override;
  std::string source_token_text(std::int64_t token) const override { return task_->token_text(token); }
  std::vector<std::int64_t> parse_source(std::string_view input) const override;
  std::string overlap_note() const override { return task_->overlap_note(); }
  std::int64_t n_free_running() const override;

 private:
  std::unique_ptr<Task> task_;
  Vocabulary answers_;
  TaskShape shape_;
};

/// What a target begins with, as a person reads it.
inline constexpr const char* kStartText = "start";

/// Targets behind their start token, for answers row by row.
std::vector<std::int64_t> targets_of(const std::vector<std::int64_t>& answers, std::int64_t length,
                                     std::int64_t start);

/// @throws DataError when a typed source is longer than the task's sources.
void check_source_length(const TaskShape& shape, const std::vector<std::int64_t>& source);

}  // namespace headtorch::tasks
