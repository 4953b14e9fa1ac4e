#include "src/tasks/task_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "src/core/error.hpp"

namespace headtorch::tasks {

table::Table read_task_table(const TaskOptions& options) {
  if (options.file.empty()) throw ConfigError("task", "file is not set: expected a CSV table, --file FILE");
  return table::read_table(options.file);
}

const table::Column& named_column(const table::Table& table, std::string_view setting,
                                  const std::string& name) {
  if (!name.empty()) return table::find_column(table, name, setting);
  std::vector<std::string> names;
  for (const table::Column& column : table.columns) names.push_back(column.name);
  throw ConfigError(
      "task", fmt::format("{0} is not set: expected --{0} with one of {1}", setting, fmt::join(names, ", ")));
}

}  // namespace headtorch::tasks
