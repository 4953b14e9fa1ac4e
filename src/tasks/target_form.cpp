#include "src/tasks/target_form.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/core/error.hpp"

namespace headtorch::tasks {
namespace {

constexpr std::int64_t kFreeRunning = 1000;

}  // namespace

std::vector<std::int64_t> targets_of(const std::vector<std::int64_t>& answers, std::int64_t length,
                                     std::int64_t start) {
  std::vector<std::int64_t> targets(answers.size());
  for (std::size_t i = 0; i < answers.size(); ++i)
    targets[i] = i % static_cast<std::size_t>(length) == 0 ? start : answers[i - 1];
  return targets;
}

void check_source_length(const TaskShape& shape, const std::vector<std::int64_t>& source) {
  const auto length = static_cast<std::int64_t>(source.size());
  if (length <= shape.source.seq_len) return;
  throw DataError("input", fmt::format("has {} tokens: expected at most {}, the longest source of {}", length,
                                       shape.source.seq_len, shape.name));
}

TargetForm::TargetForm(std::unique_ptr<Task> task)
    : task_(std::move(task)), answers_(task_->shape().n_classes, {kStartText}) {
  const TaskShape& whole = task_->shape();
  shape_ = {whole.name, Reading::kSourceToTarget, answers_.size(), whole.n_classes, whole.seq_len};
  shape_.start = whole.n_classes;
  shape_.source.n_symbols = whole.n_symbols;
  shape_.source.seq_len = whole.seq_len;
}

Batch TargetForm::batch(Split split, std::int64_t first, std::int64_t count) const {
  Batch batch = task_->batch(split, first, count);
  batch.source.length = batch.length;
  batch.source.tokens = std::move(batch.tokens);
  batch.source.lengths.assign(static_cast<std::size_t>(count), batch.length);
  batch.tokens = targets_of(batch.labels, batch.length, shape_.start);
  return batch;
}

std::vector<std::int64_t> TargetForm::parse_tokens(std::string_view input) const {
  return answers_.parse(input, shape_.name);
}

std::vector<std::int64_t> TargetForm::parse_source(std::string_view input) const {
  std::vector<std::int64_t> source = task_->parse_tokens(input);
  check_source_length(shape_, source);
  return source;
}

std::int64_t TargetForm::n_free_running() const { return std::min(kFreeRunning, size(Split::kTest)); }

}  // namespace headtorch::tasks
