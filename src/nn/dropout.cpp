#include "src/nn/dropout.hpp"

#include <torch/torch.h>

#include "src/core/philox.hpp"
#include "src/nn/fused_blocks.hpp"

namespace headtorch::nn {

DropoutStream::DropoutStream(std::uint64_t seed, std::int64_t step, std::int64_t first_example)
    : seed_(seed), next_place_(dropout_stream(step, 0)), first_example_(first_example) {}

DropoutDraw DropoutStream::next(const torch::Tensor& like) {
  const std::int64_t batch = like.dim() == 0 ? 1 : std::max<std::int64_t>(like.size(0), 1);
  return {seed_, next_place_++, static_cast<std::uint64_t>(first_example_ * (like.numel() / batch))};
}

torch::Tensor DropoutStream::mask(const torch::Tensor& like, double p) {
  const torch::Tensor mask = torch::empty(like.sizes(), torch::kFloat32);
  const DropoutDraw draw = next(like);
  fill_dropout_mask({mask.data_ptr<float>(), static_cast<std::size_t>(mask.numel())}, p, draw.seed,
                    draw.stream, draw.first_element);
  return mask.to(like.options());
}

DropoutStream DropoutStream::ahead(std::int64_t places) const {
  DropoutStream later = *this;
  later.next_place_ += static_cast<std::uint64_t>(places);
  return later;
}

torch::Tensor dropout(const torch::Tensor& x, double p, bool training, DropoutStream* stream) {
  if (!training || p == 0.0) return x;
  if (stream == nullptr) return torch::dropout(x, p, true);
  return fits_kernels(x) ? fused_dropout(x, p, stream->next(x)) : x * stream->mask(x, p);
}

torch::Tensor kept(const torch::Tensor& like, double p, DropoutStream* stream) {
  return stream == nullptr ? torch::rand(like.sizes(), like.options().requires_grad(false)) >= p
                           : stream->mask(like, p) > 0;
}

}  // namespace headtorch::nn
