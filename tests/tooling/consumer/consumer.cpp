#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>

#include <cstdio>
#include <exception>

#include "headtorch_version.hpp"
#include "src/attention/softmax.hpp"
#include "src/core/error.hpp"

int main() {
  const at::Tensor weights = headtorch::attention::masked_softmax(at::zeros({2, 4}), at::Tensor());
  std::printf("headtorch %s, weight %.2f\n", headtorch::kVersion, weights[1][3].item<double>());
  try {
    throw headtorch::UsageError("consumer", "an error crosses the library");
  } catch (const headtorch::Error& error) {
    return error.code() == headtorch::ExitCode::kUsage ? 0 : 1;
  }
}
