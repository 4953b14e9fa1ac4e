#include "src/nn/linear.hpp"

#include <torch/torch.h>

#include "src/nn/initialisation.hpp"

namespace headtorch::nn {

torch::nn::Linear make_linear(std::int64_t in, std::int64_t out, Init init, bool bias) {
  torch::nn::Linear linear(torch::nn::LinearOptions(in, out).bias(bias));
  initialise(linear->weight, init);
  if (bias) torch::nn::init::zeros_(linear->bias);
  return linear;
}

}  // namespace headtorch::nn
