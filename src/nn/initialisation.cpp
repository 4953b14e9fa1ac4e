#include "src/nn/initialisation.hpp"

#include <torch/torch.h>

#include <cmath>

namespace headtorch::nn {
namespace {

constexpr double kNormalSd = 0.02;

}  // namespace

void initialise(torch::Tensor weight, Init init, double gain) {
  const torch::NoGradGuard no_grad;
  const auto in = static_cast<double>(weight.size(1)), out = static_cast<double>(weight.size(0));
  switch (init) {
    case Init::kXavier: {
      const double bound = std::sqrt(6.0 / (in + out));
      weight.uniform_(-bound, bound);
      break;
    }
    case Init::kHe:
      weight.normal_(0.0, std::sqrt(2.0 / in));
      break;
    case Init::kNormal:
      weight.normal_(0.0, kNormalSd);
      break;
  }
  if (gain != 1.0) weight.mul_(gain);
}

double embedding_sd(Init init) { return init == Init::kNormal ? kNormalSd : std::sqrt(0.5); }

}  // namespace headtorch::nn
