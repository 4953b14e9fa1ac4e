#pragma once

#include <functional>

#include "train/run.hpp"

namespace headtorch::train {

/// Rough bytes of a training run: weights, moments and gradients of every replica, and what backward keeps of
/// one batch.
double estimated_bytes(const RunConfig& config, const tasks::TaskShape& shape);

/// Runs `work`; a failed allocation becomes Error(kOutOfMemory) with the estimate and what to lower.
RunResult with_memory_advice(const RunConfig& config, const tasks::TaskShape& shape,
                             const std::function<RunResult()>& work);

}  // namespace headtorch::train
