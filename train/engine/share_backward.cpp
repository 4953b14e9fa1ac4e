#include "train/engine/share.hpp"

namespace headtorch::train::engine {

void Share::norm_backward(const Stream& own, const NormGradients& d, const kernels::DropoutBits& dropout,
                          float* gradient) {
  kernels_.residual_norm_backward({.rows = rows_,
                                   .features = model_.sizes.width,
                                   .y_gradient = d_y_.data(),
                                   .sum_gradient = d.sum,
                                   .sum = own.sum.data(),
                                   .mean = own.norm.bias ? own.mean.data() : nullptr,
                                   .inverse_sd = own.inverse_sd.data(),
                                   .weight = own.norm.weight.values,
                                   .dropout = dropout,
                                   .x_gradient = d.x,
                                   .branch_gradient = d.branch,
                                   .weight_gradient = own.norm.weight.gradient(gradient),
                                   .bias_gradient = own.norm.bias.gradient(gradient)});
}

void Share::join_backward(std::int64_t index, float* gradient) {
  const Stream& own = stream(index);
  const kernels::DropoutBits dropout = drawn(model_.dropout, own.dropped);
  // Pre-norm hands the gradient of the sum on beside that of y; post-norm has the sum end in y.
  float* d_x = (is_pre() ? d_sum_ : d_y_).data();
  float* d_branch = dropout.bits == nullptr ? d_x : d_branch_.data();
  norm_backward(own, {is_pre() && index < branches() ? d_sum_.data() : nullptr, d_x, d_branch}, dropout,
                gradient);
  d_branch_now_ = d_branch;
}

void Share::feed_forward_backward(std::int64_t layer, const float* x, float* gradient) {
  FeedForward& own = feed_forwards_[static_cast<std::size_t>(layer)];
  const PackedLayer& weights = weights_.layer(layer);
  const Rows d_branch{d_branch_now_, rows_}, d_hidden{d_hidden_.data(), rows_};
  add_gradients(d_branch, own.y.data(), weights.linear2, gradient);
  multiply_back(d_branch, weights.linear2, Start::kZero, d_hidden_.data());
  kernels_.activation_backward({rows_ * model_.sizes.hidden, own.factor.data(), d_hidden_.data()});
  add_gradients(d_hidden, x, weights.linear1, gradient);
  multiply_back(d_hidden, weights.linear1, is_pre() ? Start::kZero : Start::kWhatIsThere, d_y_.data());
}

void Share::attend_backward(std::int64_t layer, const float* x, float* gradient) {
  Attention& own = attentions_[static_cast<std::size_t>(layer)];
  const PackedLayer& weights = weights_.layer(layer);
  const Rows d_branch{d_branch_now_, rows_}, d_qkv{d_qkv_.data(), rows_};
  add_gradients(d_branch, own.y.data(), weights.out_proj, gradient);
  multiply_back(d_branch, weights.out_proj, Start::kZero, d_attention_.data());
  kernels_.attention_backward({attention_sizes(),
                               attention_rule(drawn(model_.attention_dropout, own.dropped)),
                               model_.attention_scale, own.qkv.data(), own.weights.data(),
                               d_attention_.data(), d_qkv_.data(), nullptr, scratch_.data()});
  if (!model_.turn_cosine.empty())
    kernels_.turn_pairs(
        {attention_sizes(), d_qkv_.data(), model_.turn_cosine.data(), model_.turn_sine.data(), true});
  add_gradients(d_qkv, x, weights.in_proj, gradient);
  multiply_back(d_qkv, weights.in_proj, is_pre() ? Start::kZero : Start::kWhatIsThere, d_y_.data());
}

void Share::embed_backward(const Sequences& sequences, float* gradient) {
  const std::int64_t width = model_.sizes.width;
  float* dx = (is_pre() ? d_sum_ : d_y_).data();
  if (is_pre()) norm_backward(stream(0), {.sum = dx, .x = dx}, {}, gradient);
  const kernels::DropoutBits dropout = drawn(model_.dropout, embedding_dropped_);
  if (dropout.bits != nullptr) kernels_.apply_dropout({rows_ * width, dx, dropout, dx});
  if (model_.sizes.features > 0)
    add_gradients({dx, rows_}, sequences.features.data(), weights_.features(), gradient);
  for (std::int64_t row = 0; row < rows_; ++row) {
    const float* own = dx + row * width;
    float* token =
        model_.embedding.gradient(gradient) + sequences.tokens[static_cast<std::size_t>(row)] * width;
    for (std::int64_t j = 0; j < width; ++j) token[j] += own[j];
    if (!model_.positions) continue;
    float* position = model_.positions.gradient(gradient) + row % length_ * width;
    for (std::int64_t j = 0; j < width; ++j) position[j] += own[j];
  }
}

}  // namespace headtorch::train::engine
