#include "src/nn/feed_forward.hpp"

#include <torch/torch.h>

#include "src/nn/linear.hpp"

namespace headtorch::nn {

FeedForwardImpl::FeedForwardImpl(const FeedForwardOptions& options) : options_(options) {
  linear1_ =
      register_module("linear1", make_linear(options.d_model, options.d_ff, options.init, options.bias));
  linear2_ =
      register_module("linear2", make_linear(options.d_ff, options.d_model, options.init, options.bias));
}

torch::Tensor FeedForwardImpl::forward(const torch::Tensor& x, DropoutStream* stream) {
  const torch::Tensor hidden = linear1_->forward(x);
  const torch::Tensor active =
      options_.activation == Activation::kGelu ? torch::gelu(hidden) : torch::relu(hidden);
  return linear2_->forward(dropout(active, options_.dropout, is_training(), stream));
}

}  // namespace headtorch::nn
