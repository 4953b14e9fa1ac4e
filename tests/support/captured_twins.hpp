#pragma once

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <string>
#include <vector>

#include "models/mini_transformer.hpp"
#include "train/captured_step.hpp"
#include "train/precision.hpp"
#include "train/record.hpp"

// One training in two ways: step by step as train/run.cpp does on a GPU, and by CapturedStep.

namespace headtorch::train {

struct Twin {
  /// The gradient of a key's bias is 0 but for rounding, which Adam's own 1e-8 would make a whole step of.
  static constexpr double kEps = 1e-4;

  RunConfig config;
  torch::Device device;
  models::MiniTransformer model;
  AdamW optimizer;

  Twin(const RunConfig& own, const tasks::Task& task, torch::Device where)
      : config(own),
        device(where),
        model(made(own, task, where)),
        optimizer(*model, {.beta2 = own.train.beta2, .eps = kEps}) {}

  torch::Tensor backward(const BatchTensors& batch) {
    torch::Tensor loss;
    {
      const Autocast lower(config.train.precision, device);
      loss = summed_loss(model->forward(batch.input), batch, config.train.label_smoothing);
    }
    optimizer.gradient().zero_();
    optimizer.add(torch::autograd::grad({loss}, optimizer.parameters(), {}, /*retain_graph=*/false,
                                        /*create_graph=*/false, /*allow_unused=*/true),
                  optimizer.gradient());
    return loss;
  }

  StepReading step(std::int64_t step, double lr, const tasks::Batch& batch) {
    const auto counted = static_cast<double>(count_labels(batch));
    const double loss = backward(to_tensors(batch, device)).item<double>() / counted;
    const double norm =
        std::isfinite(loss) ? optimizer.step(lr, config.train.clip, 1.0 / counted) : std::nan("");
    return {step, lr, true, loss, norm};
  }

  torch::Tensor weights() const {
    return torch::nn::utils::parameters_to_vector(model->parameters()).detach().to(torch::kCPU);
  }

 private:
  static models::MiniTransformer made(const RunConfig& config, const tasks::Task& task, torch::Device where) {
    torch::manual_seed(1);
    models::MiniTransformer model(config.model, sizes_for(task.shape()));
    model->to(where);
    model->train();
    return model;
  }
};

/// Both ways end at the same weights, and tell the same losses and norms on the way. Some steps of the second
/// are taken without CapturedStep, as the steps with a health report are.
inline void expect_twins_agree(RunConfig config, torch::Device device, double limit) {
  config.model.dropout = config.model.attention.attention_dropout = 0.0;
  const auto task = make_task(config);
  Twin eager(config, *task, device), other(config, *task, device);
  CapturedStep captured(other.optimizer, config.train.clip, device,
                        [&](const BatchTensors& batch) { return other.backward(batch); });
  constexpr std::int64_t kSteps = 20;
  std::vector<StepReading> expected, readings;
  const auto add = [&](const std::vector<StepReading>& more) {
    readings.insert(readings.end(), more.begin(), more.end());
  };
  for (std::int64_t step = 1; step <= kSteps; ++step) {
    const double lr = 1e-3 / static_cast<double>(step);
    const tasks::Batch batch =
        task->batch(tasks::Split::kTrain, (step - 1) * config.train.batch, config.train.batch);
    expected.push_back(eager.step(step, lr, batch));
    if (step == 1 || step == 13) {
      add(captured.wait());
      readings.push_back(other.step(step, lr, batch));
    } else {
      ASSERT_TRUE(captured.take(step, lr, batch)) << "step " << step;
      add(captured.finished());
    }
  }
  add(captured.wait());
  ASSERT_EQ(readings.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(readings[i].step, expected[i].step);
    EXPECT_NEAR(readings[i].loss, expected[i].loss, limit) << "step " << i + 1;
    EXPECT_NEAR(readings[i].grad_norm, expected[i].grad_norm, limit * (1.0 + expected[i].grad_norm));
  }
  EXPECT_LE((eager.weights() - other.weights()).abs().max().item<double>(), limit);
  EXPECT_GT(readings.front().loss, readings.back().loss) << "learned nothing";
}

}  // namespace headtorch::train
