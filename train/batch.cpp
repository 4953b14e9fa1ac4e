#include "train/batch.hpp"

#include <torch/torch.h>

#include <algorithm>

namespace headtorch::train {

BatchTensors to_tensors(const tasks::Batch& batch, torch::Device device) {
  const auto tensor = [&](const std::vector<std::int64_t>& values) {
    return torch::tensor(values, torch::kLong).view({batch.examples, batch.length}).to(device);
  };
  return {tensor(batch.tokens), tensor(batch.labels)};
}

torch::Tensor position_losses(const torch::Tensor& logits_BTC, const torch::Tensor& labels_BT) {
  return at::cross_entropy_loss(logits_BTC.flatten(0, 1), labels_BT.flatten(), {}, at::Reduction::None,
                                tasks::kNotCounted)
      .view_as(labels_BT);
}

torch::Tensor summed_loss(const torch::Tensor& logits_BTC, const torch::Tensor& labels_BT) {
  return at::cross_entropy_loss(logits_BTC.flatten(0, 1), labels_BT.flatten(), {}, at::Reduction::Sum,
                                tasks::kNotCounted);
}

std::int64_t count_labels(const tasks::Batch& batch) {
  return static_cast<std::int64_t>(batch.labels.size()) -
         std::count(batch.labels.begin(), batch.labels.end(), tasks::kNotCounted);
}

}  // namespace headtorch::train
