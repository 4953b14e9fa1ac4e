#pragma once

#include "models/mini_transformer.hpp"
#include "train/leak.hpp"

namespace headtorch::train {

/// find_leaks on a model in memory, which is left in the mode it was in.  @param input T >= 1.
/// @param edit_pattern  takes part in every forward pass: a way to plant a leak.
LeakReport probe_leaks(models::MiniTransformer model, const models::ModelInput& input, std::int64_t n_symbols,
                       LeakDepth depth, const nn::LayerEdit& edit_pattern = {});

}  // namespace headtorch::train
