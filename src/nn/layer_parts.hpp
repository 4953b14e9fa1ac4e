#pragma once

#include <functional>
#include <vector>

#include "src/nn/encoder.hpp"

// What layers and stacks of the encoder and of the decoder have in common.

namespace headtorch::nn {

Norm make_norm(const EncoderLayerOptions& options);
FeedForward make_feed_forward(const EncoderLayerOptions& options);

using TensorMap = std::function<torch::Tensor(const torch::Tensor&)>;

/// A residual branch with dropout behind it: x + f(norm(x)) under kPre, norm(x + f(x)) under kPost.
struct Residual {
  NormPlace place = NormPlace::kPre;
  double dropout = 0.0;  ///< while training
  bool is_training = false;
  DropoutStream* stream = nullptr;

  torch::Tensor operator()(Norm& norm, const torch::Tensor& x_BTD, const TensorMap& f) const;
};

/// The edit as one place sees it; empty when it is.  @param edit outlives what is returned.
Edit for_place(const LayerEdit& edit, std::int64_t place);

/// The stream that a layer hands on, as the probe lets it pass.  @param probe null: as it is.
torch::Tensor hand_on(const HeadProbe* probe, std::int64_t layer, torch::Tensor stream_BTD);

/// f(inputs) as one layer computes it, keeping what backward needs or not.  @param layer whose parameters f
/// uses.  @param dropout the stream that f draws from; null: torch's generator.
torch::Tensor run_layer(Activations activations, const torch::nn::Module& layer, DropoutStream* dropout,
                        const std::vector<torch::Tensor>& inputs,
                        const std::function<torch::Tensor(const std::vector<torch::Tensor>&)>& f);

}  // namespace headtorch::nn
