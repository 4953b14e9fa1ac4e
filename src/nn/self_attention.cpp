#include "src/nn/self_attention.hpp"

#include <torch/torch.h>

#include <cmath>

#include "src/attention/scores.hpp"
#include "src/core/shape.hpp"
#include "src/nn/linear.hpp"

namespace headtorch::nn {

SelfAttentionImpl::SelfAttentionImpl(const SelfAttentionOptions& options) : options_(options) {
  query_ = register_module("query", make_linear(options.d_model, options.d_k, options.init, options.bias));
  key_ = register_module("key", make_linear(options.d_model, options.d_k, options.init, options.bias));
  value_ = register_module("value", make_linear(options.d_model, options.d_v, options.init, options.bias));
}

SelfAttentionResult SelfAttentionImpl::forward(const torch::Tensor& x_BTD, const attention::Mask& mask) {
  check_shape("nn.self_attention", "x", x_BTD.sizes(), {kAnySize, kAnySize, options_.d_model});
  const auto one_head = [&](torch::nn::Linear& projection) {
    return projection->forward(x_BTD).unsqueeze(1);
  };
  const double scale = 1.0 / std::sqrt(static_cast<double>(options_.d_k));
  const attention::Attended attended = attention::attend_explicit(
      attention::scaled_dot_scores(one_head(query_), one_head(key_), scale), one_head(value_),
      attention::resolve(mask, x_BTD.size(1), x_BTD.size(1), x_BTD.device()));
  return {attended.y.squeeze(1), attended.pattern.squeeze(1)};
}

}  // namespace headtorch::nn
