#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/mini_transformer.hpp"
#include "src/tasks/task.hpp"
#include "train/adamw.hpp"
#include "train/batch.hpp"
#include "train/engine/engine.hpp"
#include "train/precision.hpp"
#include "train/replicas.hpp"
#include "train/settings/config.hpp"

namespace headtorch::train {

/// The gradient of one optimizer step: each replica takes a share of the batch, and the shares are summed in
/// a fixed order. Goes through the engine where that knows the model, else through the modules and LibTorch's
/// autograd.
class Gradients {
 public:
  /// Refers to all but the device; `optimizer` is over the model's parameters.
  Gradients(const RunConfig& config, const tasks::Task& task, models::MiniTransformer& model,
            AdamW& optimizer, Replicas& replicas, torch::Device device);

  /// Leaves the gradient of the summed loss in the optimizer, to be multiplied by scale().
  /// @returns the mean loss over the counted positions of the step; nothing when there was none.
  std::optional<double> accumulate(std::int64_t step);
  /// Leaves the gradient of one batch's summed loss in the optimizer, with torch's generator for dropout: the
  /// work of a captured step.  @returns that loss, a scalar on the device.
  torch::Tensor of(const BatchTensors& batch);
  /// What makes the last gradient that of the mean loss.
  double scale() const { return scale_; }
  /// Tells whether the step's loss and gradient were finite, for float16.
  void update_loss_scale(bool finite) { loss_scale_.update(finite); }

  /// Null: the modules train.
  engine::Engine* engine() { return engine_.get(); }
  /// Why they do; empty: they do not.
  const std::string& why_modules() const { return why_modules_; }

 private:
  /// Adds the share's gradient to `flat`.
  engine::Counted through_engine(std::int64_t share, std::int64_t batch_index, torch::Tensor& flat);
  engine::Counted through_modules(std::int64_t share, std::int64_t batch_index, torch::Tensor& flat);
  torch::Tensor add(const BatchTensors& batch, nn::DropoutStream* dropout, torch::Tensor& flat);
  tasks::Batch share_of_batch(std::int64_t share, std::int64_t batch_index) const;
  std::int64_t first_example(std::int64_t share) const;

  const TrainOptions& options_;
  const tasks::Task& task_;
  models::MiniTransformer& model_;
  AdamW& optimizer_;
  Replicas& replicas_;
  torch::Device device_;
  LossScale loss_scale_;
  std::string why_modules_;
  std::unique_ptr<engine::Engine> engine_;
  std::vector<torch::Tensor>
      others_;  // flat gradients of all shares but the first, which has the optimizer's
  double scale_ = 1.0;
};

}  // namespace headtorch::train
