#pragma once

#include <string_view>

#include "src/probe/circuits.hpp"
#include "src/tasks/task.hpp"
#include "train/settings/config.hpp"

namespace headtorch::train {

/// Copying and composition of every head, from a stored model's weights. Where LayerNorm stands before a
/// branch (norm = pre), its centring and gain are folded into W_Q, W_K, W_V and W_U that read it; its
/// division and bias are left out, and norm = post is ignored, as is position_norm. Labels count as tokens
/// where there are as many classes as symbols and a text is continued or the first 64 validation examples
/// label with tokens of their own.  @param model a checkpoint's model.safetensors.
/// @throws DataError when it does not fit the config.
probe::Circuits read_circuits(const RunConfig& config, const tasks::Task& task, std::string_view model);

}  // namespace headtorch::train
