#pragma once

#include "src/tasks/task.hpp"

namespace headtorch::tasks {

/// Token rows that a caller gives, with no label counted.  @throws DataError unless there is at least one
/// token and all rows have one length.
Batch unlabelled(const std::vector<std::vector<std::int64_t>>& rows);

/// Examples first .. first+count-1 of a batch.
Batch slice(const Batch& batch, std::int64_t first, std::int64_t count);

}  // namespace headtorch::tasks
