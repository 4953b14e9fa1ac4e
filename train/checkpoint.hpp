#pragma once

#include <torch/nn/module.h>

#include <string>
#include <string_view>

namespace headtorch::train {

/// The module's parameters as a safetensors file, under their module names.
std::string to_safetensors(const torch::nn::Module& module);

/// Copies a safetensors file into the module's parameters: all or none.
/// @throws DataError naming the tensor and both shapes when names, shapes or dtypes differ in anything.
void from_safetensors(std::string_view bytes, std::string_view file, torch::nn::Module& module);

/// @throws DataError naming the first parameter that holds a number which is not finite.
void check_finite(const torch::nn::Module& module, std::string_view file);

}  // namespace headtorch::train
