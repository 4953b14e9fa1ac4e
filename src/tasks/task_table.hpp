#pragma once

#include <string>
#include <string_view>

#include "src/table/table.hpp"
#include "src/tasks/task.hpp"

namespace headtorch::tasks {

/// The table of TaskOptions::file.  @throws ConfigError when none is set; as table::read_table.
table::Table read_task_table(const TaskOptions& options);

/// The column that `setting` names.  @throws ConfigError when it names none, listing those there are; as
/// table::find_column.
const table::Column& named_column(const table::Table& table, std::string_view setting,
                                  const std::string& name);

}  // namespace headtorch::tasks
