#pragma once

#include <torch/nn/modules/linear.h>

#include "src/nn/options.hpp"

namespace headtorch::nn {

/// A linear map with this project's initialisation: weight by `init`, bias zero.
torch::nn::Linear make_linear(std::int64_t in, std::int64_t out, Init init, bool bias = true);

}  // namespace headtorch::nn
