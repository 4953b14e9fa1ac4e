#pragma once

#include <torch/types.h>

#include "src/tasks/task.hpp"

namespace headtorch::train {

/// One batch on a device. Letters: B examples, T tokens.
struct BatchTensors {
  torch::Tensor tokens_BT, labels_BT;  // int64
};
BatchTensors to_tensors(const tasks::Batch& batch, torch::Device device);

/// Cross-entropy of each position in nats, 0 where it is not counted.  @param logits_BTC  @returns [B, T].
torch::Tensor position_losses(const torch::Tensor& logits_BTC, const torch::Tensor& labels_BT);

/// Sum of the cross-entropy over counted positions, in nats.  @param logits_BTC  @returns a scalar.
torch::Tensor summed_loss(const torch::Tensor& logits_BTC, const torch::Tensor& labels_BT);

/// Positions whose label is counted.
std::int64_t count_labels(const tasks::Batch& batch);

}  // namespace headtorch::train
