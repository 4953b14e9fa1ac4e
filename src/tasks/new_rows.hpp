#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/table/table.hpp"
#include "src/tasks/rows.hpp"
#include "src/tasks/task.hpp"

namespace headtorch::tasks {

/// Rows of another file, ready for a model that learned from the task's own file.
struct NewRows {
  std::string target;
  Scaling scaling;                  ///< takes an output to original units
  std::vector<std::int64_t> lines;  ///< of the new file; of a series: of the newest lag
  std::vector<Batch> batches;       ///< what is predicted, in this order, stands where a label is counted
};

/// For task table each row that has the columns learned from; for series each run of lags, the last one ends
/// in the last line. Scaled by the rows learned from, which are read again from options.file, as the values
/// that rows look at are.
/// @throws ConfigError for another task; as table_rows and series_rows do, for either file.
NewRows new_rows(const TaskOptions& options, std::uint64_t seed, const table::Table& table,
                 table::Missing missing);

}  // namespace headtorch::tasks
