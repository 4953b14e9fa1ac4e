#include "src/nn/dropout.hpp"

#include <torch/torch.h>

#include "src/core/philox.hpp"

namespace headtorch::nn {
namespace {

constexpr std::uint64_t kPlacesPerStep = 1 << 16;

}  // namespace

DropoutStream::DropoutStream(std::uint64_t seed, std::int64_t step, std::int64_t first_example)
    : seed_(seed),
      next_place_(static_cast<std::uint64_t>(step) * kPlacesPerStep),
      first_example_(first_example) {}

torch::Tensor DropoutStream::mask(const torch::Tensor& like, double p) {
  const torch::Tensor mask = torch::empty(like.sizes(), torch::kFloat32);
  const std::int64_t batch = like.dim() == 0 ? 1 : std::max<std::int64_t>(like.size(0), 1);
  const std::int64_t first_element = first_example_ * (like.numel() / batch);
  fill_dropout_mask({mask.data_ptr<float>(), static_cast<std::size_t>(mask.numel())}, p, seed_, next_place_++,
                    static_cast<std::uint64_t>(first_element));
  return mask.to(like.options());
}

DropoutStream DropoutStream::ahead(std::int64_t places) const {
  DropoutStream later = *this;
  later.next_place_ += static_cast<std::uint64_t>(places);
  return later;
}

torch::Tensor dropout(const torch::Tensor& x, double p, bool training, DropoutStream* stream) {
  if (!training || p == 0.0) return x;
  return stream == nullptr ? torch::dropout(x, p, true) : x * stream->mask(x, p);
}

torch::Tensor kept(const torch::Tensor& like, double p, DropoutStream* stream) {
  return stream == nullptr ? torch::rand(like.sizes(), like.options().requires_grad(false)) >= p
                           : stream->mask(like, p) > 0;
}

}  // namespace headtorch::nn
