#pragma once

#include <cstdint>
#include <string_view>

#include "train/run.hpp"

namespace headtorch::train {

/// A trained model with every head replaced by its nearest fixed kernel and all else as learned, on the
/// task's test examples. Kernels are fitted on validation data.  `model` is a checkpoint's model.safetensors.
/// @throws as study_heads.
Evaluation evaluate_replaced(const RunConfig& config, const tasks::Task& task, std::string_view model,
                             std::int64_t step);

}  // namespace headtorch::train
