#pragma once

#include <torch/torch.h>

#include <memory>
#include <string>

#include "models/mini_transformer.hpp"
#include "src/tasks/task.hpp"
#include "train/checkpoint.hpp"
#include "train/record.hpp"

// Small models as they are before training, for tests of what looks at a stored model.

namespace headtorch::train {

inline RunConfig small_config(const std::string& task, models::Family family) {
  RunConfig config = default_config(task);
  config.model.family = family;
  config.model.n_layers = 2;
  config.model.n_heads = 2;
  config.model.d_model = 16;
  config.model.d_ff = 32;
  config.model.dropout = config.model.attention.attention_dropout = 0.2;
  config.train.steps = 12;
  config.train.batch = 8;
  config.train.warmup = 4;
  config.train.threads = 1;
  config.train.device = DeviceChoice::kCpu;
  return config;
}

struct Untrained {
  RunConfig config;
  std::unique_ptr<tasks::Task> task;
  models::MiniTransformer model{nullptr};

  std::string bytes() const { return to_safetensors(*model); }
};

inline Untrained untrained(const RunConfig& config) {
  Untrained made{config, make_task(config), nullptr};
  torch::manual_seed(5);
  made.model = models::MiniTransformer(config.model, sizes_for(config, *made.task));
  const torch::NoGradGuard no_grad;
  for (torch::Tensor& parameter : made.model->parameters()) {
    // Biases start at 0, where a mistake about them would not show.
    if (parameter.eq(0.0).all().item<bool>()) parameter.normal_(0.0, 0.3);
  }
  return made;
}

}  // namespace headtorch::train
