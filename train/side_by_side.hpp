#pragma once

#include <cstdint>
#include <functional>

namespace headtorch::train {

/// Calls job(0) .. job(n_jobs-1), taken up in this order by n_threads threads of its own, and waits. After an
/// exception no further job is begun; of several, the one with the lowest number is thrown again.
void run_side_by_side(std::int64_t n_jobs, std::int64_t n_threads,
                      const std::function<void(std::int64_t job)>& job);

/// True in a job that others may run beside.
bool runs_beside_others();

}  // namespace headtorch::train
