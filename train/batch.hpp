#pragma once

#include <torch/types.h>

#include "models/mini_transformer.hpp"
#include "src/tasks/task.hpp"

namespace headtorch::train {

/// One batch on a device. Letters: B examples, T tokens, C classes.
struct BatchTensors {
  models::ModelInput input;
  torch::Tensor labels_BT;  ///< int64
  torch::Tensor values_BT;  ///< float32, what is to be predicted under Measure::kReal; else undefined
};

/// True when an example's source is shorter than the longest.
bool is_padded(const tasks::Source& source);

BatchTensors to_tensors(const tasks::Batch& batch, torch::Device device);

/// Loss of each position, 0 where it is not counted: cross-entropy in nats, or the squared error of the one
/// number under Measure::kReal.  @param logits_BTC  @param label_smoothing share of the label given to all
/// classes alike (Szegedy et al. 2016, arXiv:1512.00567).  @returns [B, T] float32 or wider.
torch::Tensor position_losses(const torch::Tensor& logits_BTC, const BatchTensors& batch,
                              double label_smoothing = 0.0);

/// The sum over counted positions.  @returns a scalar.
torch::Tensor summed_loss(const torch::Tensor& logits_BTC, const BatchTensors& batch,
                          double label_smoothing = 0.0);

/// Positions whose label is counted.
std::int64_t count_labels(const tasks::Batch& batch);

}  // namespace headtorch::train
