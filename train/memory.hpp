#pragma once

#include <functional>
#include <string>

#include "train/run.hpp"

namespace headtorch::train {

/// Rough bytes of a training run: the program, weights, moments, gradients of every replica, and what
/// backward keeps of one batch. `bench/memory_estimate` holds it against measured peaks.
double estimated_bytes(const RunConfig& config, const tasks::TaskShape& shape);

/// What to change so that it takes less, with what it would take then, in the order in which it is worth
/// trying: shapes, batch, recomputation, a window, precision. One line.
std::string memory_advice(const RunConfig& config, const tasks::TaskShape& shape);

/// The most memory that this process has held, bytes; 0 where the system does not tell.
double peak_bytes();

/// Runs `work`; a run that cannot fit into the machine, or a failed allocation, becomes Error(kOutOfMemory)
/// with the estimate and memory_advice.
RunResult with_memory_advice(const RunConfig& config, const tasks::TaskShape& shape,
                             const std::function<RunResult()>& work);

}  // namespace headtorch::train
