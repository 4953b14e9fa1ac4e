#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "src/tasks/task.hpp"

namespace headtorch::cli {

/// `{tokens, labels, counted, shown}`, with features and values where the task has them, and
/// `source: {tokens, shown, features}`.
nlohmann::ordered_json example_document(const tasks::Task& task, const tasks::Batch& batch, std::int64_t i);

/// The same for a person: an image as marks, numbers as a table, tokens above their labels.
std::string example_text(const tasks::Task& task, const tasks::Batch& batch, std::int64_t i);

/// What stands for a label that does not count.
inline constexpr const char* kNotCountedMark = "_";

}  // namespace headtorch::cli
