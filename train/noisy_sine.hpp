#pragma once

#include <cstdint>
#include <vector>

namespace headtorch::train {

struct NoisySine {
  std::vector<double> x, y;  ///< each a float32
};

/// `torch.manual_seed(seed); x = torch.rand(n) * 10; y = torch.sin(x) + 0.2 * torch.randn(n)` as Python draws
/// it, in float32; torch's own generator is left alone.
NoisySine noisy_sine(std::uint64_t seed, std::int64_t n);

}  // namespace headtorch::train
