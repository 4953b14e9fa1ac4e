#include <algorithm>

#include "train/engine/share.hpp"

namespace headtorch::train::engine {

void Share::embed(const Sequences& sequences, Draws& draws) {
  const std::int64_t width = model_.sizes.width;
  Stream& first = stream(0);
  float* x = (is_pre() ? first.sum : first.y).data();
  const float* positions = model_.positions ? model_.positions.values : model_.position_code.data();
  for (std::int64_t row = 0; row < rows_; ++row) {
    const float* token = model_.embedding.values + sequences.tokens[static_cast<std::size_t>(row)] * width;
    float* out = x + row * width;
    if (positions == nullptr) {
      std::copy_n(token, width, out);
    } else {
      const float* position = positions + row % length_ * width;
      for (std::int64_t j = 0; j < width; ++j) out[j] = token[j] + position[j];
    }
  }
  if (model_.sizes.features > 0) {
    multiply({sequences.features.data(), rows_}, weights_.features(), branch_.data());
    for (std::int64_t j = 0; j < rows_ * width; ++j) x[j] += branch_.data()[j];
  }
  const kernels::DropoutBits dropout = draw(model_.dropout, length_ * width, embedding_dropped_, draws);
  if (dropout.bits != nullptr) kernels_.apply_dropout({rows_ * width, x, dropout, x});
  if (is_pre()) norm(first, x, nullptr, {});
}

void Share::norm(Stream& own, const float* x, const float* branch, const kernels::DropoutBits& dropout) {
  kernels_.residual_norm_forward({.rows = rows_,
                                  .features = model_.sizes.width,
                                  .branch = branch,
                                  .dropout = dropout,
                                  .x = x,
                                  .weight = own.norm.weight.values,
                                  .bias = own.norm.bias.values,
                                  .eps = model_.norm_eps,
                                  .sum = own.sum.data(),
                                  .y = own.y.data(),
                                  .mean = own.norm.bias ? own.mean.data() : nullptr,
                                  .inverse_sd = own.inverse_sd.data()});
}

void Share::attend(std::int64_t layer, const float* x, Draws& draws) {
  Attention& own = attentions_[static_cast<std::size_t>(layer)];
  const PackedLayer& weights = weights_.layer(layer);
  multiply({x, rows_}, weights.in_proj, own.qkv.data());
  if (!model_.turn_cosine.empty())
    kernels_.turn_pairs(
        {attention_sizes(), own.qkv.data(), model_.turn_cosine.data(), model_.turn_sine.data()});
  const kernels::DropoutBits dropout =
      draw(model_.attention_dropout, model_.sizes.heads * length_ * length_, own.dropped, draws);
  kernels_.attention_forward({attention_sizes(), attention_rule(dropout), model_.attention_scale,
                              own.qkv.data(), own.weights.data(), own.y.data(), scratch_.data()});
  multiply({own.y.data(), rows_}, weights.out_proj, branch_.data());
}

void Share::feed_forward(std::int64_t layer, const float* x, Draws& draws) {
  FeedForward& own = feed_forwards_[static_cast<std::size_t>(layer)];
  const PackedLayer& weights = weights_.layer(layer);
  multiply({x, rows_}, weights.linear1, own.factor.data());
  const kernels::DropoutBits dropout =
      draw(model_.dropout, length_ * model_.sizes.hidden, own.dropped, draws);
  const auto kind = model_.activation == nn::Activation::kRelu ? kernels::ActivationKind::kRelu
                                                               : kernels::ActivationKind::kGelu;
  kernels_.activation_forward({kind, rows_ * model_.sizes.hidden, own.factor.data(), dropout, own.y.data()});
  multiply({own.y.data(), rows_}, weights.linear2, branch_.data());
}

void Share::join(std::int64_t index, Draws& draws) {
  Stream &before = stream(index - 1), &own = stream(index);
  norm(own, (is_pre() ? before.sum : before.y).data(), branch_.data(),
       draw(model_.dropout, length_ * model_.sizes.width, own.dropped, draws));
}

}  // namespace headtorch::train::engine
