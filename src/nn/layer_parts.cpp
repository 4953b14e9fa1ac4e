#include "src/nn/layer_parts.hpp"

#include <torch/torch.h>

#include "src/attention/recompute.hpp"

namespace headtorch::nn {

Norm make_norm(const EncoderLayerOptions& options) {
  return Norm(NormOptions{options.attention.d_model, options.norm_kind, options.norm_eps});
}

FeedForward make_feed_forward(const EncoderLayerOptions& options) {
  return FeedForward(FeedForwardOptions{options.attention.d_model, options.d_ff, options.activation,
                                        options.dropout, options.attention.init, options.attention.bias});
}

torch::Tensor Residual::operator()(Norm& norm, const torch::Tensor& x_BTD, const TensorMap& f) const {
  const bool pre = place == NormPlace::kPre;
  const torch::Tensor y_BTD =
      nn::dropout(f(pre ? norm->forward(x_BTD) : x_BTD), dropout, is_training, stream);
  return pre ? x_BTD + y_BTD : norm->forward(x_BTD + y_BTD);
}

Edit for_place(const LayerEdit& edit, std::int64_t place) {
  if (!edit) return {};
  return [&edit, place](const torch::Tensor& tensor) { return edit(place, tensor); };
}

torch::Tensor hand_on(const HeadProbe* probe, std::int64_t layer, torch::Tensor stream_BTD) {
  return probe != nullptr && probe->edit_stream ? probe->edit_stream(layer, stream_BTD) : stream_BTD;
}

torch::Tensor run_layer(Activations activations, const torch::nn::Module& layer, DropoutStream* dropout,
                        const std::vector<torch::Tensor>& inputs,
                        const std::function<torch::Tensor(const std::vector<torch::Tensor>&)>& f) {
  if (activations == Activations::kKept) return f(inputs);
  if (dropout == nullptr) return attention::recompute(f, inputs, layer.parameters());
  // f draws from the stream it was made with: each run starts it where the first one did.
  const DropoutStream start = *dropout;
  const auto again = [f, dropout, start](const std::vector<torch::Tensor>& given) {
    *dropout = start;
    return f(given);
  };
  return attention::recompute(again, inputs, layer.parameters());
}

}  // namespace headtorch::nn
