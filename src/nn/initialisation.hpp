#pragma once

#include <torch/types.h>

#include "src/nn/options.hpp"

namespace headtorch::nn {

/// Fills a weight [out, in] in place: Xavier uniform (Glorot and Bengio 2010, eq. 16), He normal over `in`
/// (He et al. 2015, eq. 10), or normal with standard deviation 0.02 (Radford et al. 2018); then multiplies by
/// `gain`.
void initialise(torch::Tensor weight, Init init, double gain = 1.0);

/// Standard deviation of token embeddings and learned positions: 0.02 under kNormal; else sqrt(1/2), the root
/// mean square of a sinusoidal encoding, so that tokens and positions weigh the same and their sum has
/// variance 1.
double embedding_sd(Init init);

}  // namespace headtorch::nn
