#include "train/batch.hpp"

#include <torch/torch.h>

#include <algorithm>

namespace headtorch::train {
namespace {

/// [examples, length, features], undefined without features.
torch::Tensor features_of(const std::vector<float>& values, std::int64_t examples, std::int64_t length) {
  if (values.empty()) return {};
  return torch::tensor(values).view({examples, length, -1});
}

torch::Tensor tokens_of(const std::vector<std::int64_t>& values, std::int64_t examples, std::int64_t length) {
  return torch::tensor(values, torch::kLong).view({examples, length});
}

}  // namespace

bool is_padded(const tasks::Source& source) {
  return std::any_of(source.lengths.begin(), source.lengths.end(),
                     [&](std::int64_t length) { return length < source.length; });
}

BatchTensors to_tensors(const tasks::Batch& batch, torch::Device device) {
  models::Sequence target{tokens_of(batch.tokens, batch.examples, batch.length),
                          features_of(batch.features, batch.examples, batch.length)};
  models::Sequence from;
  const tasks::Source& source = batch.source;
  if (source.length > 0) {
    from = {tokens_of(source.tokens, batch.examples, source.length),
            features_of(source.features, batch.examples, source.length)};
    if (is_padded(source)) from.lengths_B = torch::tensor(source.lengths, torch::kLong);
  }
  torch::Tensor values_BT;
  if (!batch.values.empty())
    values_BT = torch::tensor(batch.values).view({batch.examples, batch.length}).to(device);
  return {models::ModelInput(std::move(target), std::move(from)).to(device),
          tokens_of(batch.labels, batch.examples, batch.length).to(device), values_BT};
}

torch::Tensor position_losses(const torch::Tensor& logits_BTC, const BatchTensors& batch,
                              double label_smoothing) {
  const torch::Tensor& labels_BT = batch.labels_BT;
  const torch::Tensor wide_BTC =
      logits_BTC.to(torch::promote_types(logits_BTC.scalar_type(), torch::kFloat32));
  if (batch.values_BT.defined()) {
    const torch::Tensor error_BT = (wide_BTC.squeeze(-1) - batch.values_BT).square();
    return error_BT.masked_fill(labels_BT == tasks::kNotCounted, 0.0);
  }
  return at::cross_entropy_loss(wide_BTC.flatten(0, 1), labels_BT.flatten(), {}, at::Reduction::None,
                                tasks::kNotCounted, label_smoothing)
      .view_as(labels_BT);
}

torch::Tensor summed_loss(const torch::Tensor& logits_BTC, const BatchTensors& batch,
                          double label_smoothing) {
  if (batch.values_BT.defined()) return position_losses(logits_BTC, batch).sum();
  const torch::Tensor wide_BTC =
      logits_BTC.to(torch::promote_types(logits_BTC.scalar_type(), torch::kFloat32));
  return at::cross_entropy_loss(wide_BTC.flatten(0, 1), batch.labels_BT.flatten(), {}, at::Reduction::Sum,
                                tasks::kNotCounted, label_smoothing);
}

std::int64_t count_labels(const tasks::Batch& batch) {
  return static_cast<std::int64_t>(batch.labels.size()) -
         std::count(batch.labels.begin(), batch.labels.end(), tasks::kNotCounted);
}

}  // namespace headtorch::train
