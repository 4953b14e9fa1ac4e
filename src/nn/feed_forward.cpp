#include "src/nn/feed_forward.hpp"

#include <torch/torch.h>

#include "src/nn/fused_blocks.hpp"
#include "src/nn/linear.hpp"

namespace headtorch::nn {
namespace {

torch::Tensor activated(const torch::Tensor& hidden, Activation activation) {
  switch (activation) {
    case Activation::kGelu:
      return torch::gelu(hidden);
    case Activation::kRelu:
      return torch::relu(hidden);
    case Activation::kSwiglu:
      break;
  }
  const std::vector<torch::Tensor> halves = hidden.chunk(2, -1);
  return torch::silu(halves[0]) * halves[1];
}

}  // namespace

FeedForwardImpl::FeedForwardImpl(const FeedForwardOptions& options) : options_(options) {
  const std::int64_t hidden = options.activation == Activation::kSwiglu ? 2 * options.d_ff : options.d_ff;
  linear1_ = register_module("linear1", make_linear(options.d_model, hidden, options.init, options.bias));
  linear2_ =
      register_module("linear2", make_linear(options.d_ff, options.d_model, options.init, options.bias));
}

torch::Tensor FeedForwardImpl::forward(const torch::Tensor& x, DropoutStream* stream) {
  const torch::Tensor hidden = linear1_->forward(x);
  const double p = is_training() ? options_.dropout : 0.0;
  // With dropout from a stream, both in one pass.
  if (stream != nullptr && p > 0.0 && options_.activation != Activation::kSwiglu && fits_kernels(hidden))
    return linear2_->forward(fused_activation(hidden, options_.activation, p, stream->next(hidden)));
  return linear2_->forward(dropout(activated(hidden, options_.activation), p, is_training(), stream));
}

}  // namespace headtorch::nn
