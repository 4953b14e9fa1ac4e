#pragma once

#include <torch/types.h>

#include <string>

#include "models/mini_transformer.hpp"

namespace headtorch::train {

/// The first module of a forward pass whose output is not finite; empty when all are.
std::string first_non_finite(models::MiniTransformer model, const models::ModelInput& input);

}  // namespace headtorch::train
