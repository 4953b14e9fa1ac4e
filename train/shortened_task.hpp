#pragma once

#include <memory>

#include "src/tasks/task.hpp"

namespace headtorch::train {

/// The same task with its first `n_test` test examples and without free-running accuracy, for trainings of
/// which there are many.
std::unique_ptr<tasks::Task> shortened(std::unique_ptr<tasks::Task> task, std::int64_t n_test);

/// Test examples that are enough for a comparison: all of a file, 2,000 of what can be drawn without end
/// (some 30,000 positions: a standard error below 0.003).
std::int64_t enough_test_examples(const tasks::Task& task);

}  // namespace headtorch::train
