#include "train/noisy_sine.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/torch.h>

namespace headtorch::train {
namespace {

std::vector<double> values_of(const torch::Tensor& values_N) {
  const torch::Tensor double_N = values_N.to(torch::kFloat64).contiguous();
  const double* first = double_N.data_ptr<double>();
  return {first, first + double_N.numel()};
}

}  // namespace

NoisySine noisy_sine(std::uint64_t seed, std::int64_t n) {
  const at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  const torch::Tensor x_N = torch::rand({n}, generator, torch::kFloat32) * 10;
  const torch::Tensor y_N = torch::sin(x_N) + 0.2 * torch::randn({n}, generator, torch::kFloat32);
  return {values_of(x_N), values_of(y_N)};
}

}  // namespace headtorch::train
