#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <set>

#include "models/mini_transformer.hpp"
#include "src/core/error.hpp"
#include "tests/support/captured_twins.hpp"
#include "train/device.hpp"
#include "train/record.hpp"
#include "train/run.hpp"

// ctest label cuda: what needs a GPU. Each test skips, saying so, without one.

namespace headtorch::train {
namespace {

bool has_gpu() { return choose_device(DeviceChoice::kAuto).is_cuda(); }

TEST(Cuda, The_same_weights_give_the_same_heatmaps) {
  if (!has_gpu()) GTEST_SKIP() << "no NVIDIA GPU on this machine";
  for (const char* name : {"reverse", "induction", "dates", "digits"}) {
    const RunConfig config = default_config(name);
    const auto task = make_task(config);
    torch::manual_seed(1);
    models::MiniTransformer model(config.model, sizes_for(task->shape()));
    const auto inputs = default_inputs(*task, 8);
    const AttentionMaps cpu = record(model, *task, inputs, 0, torch::kCPU);
    model->to(torch::kCUDA);
    const AttentionMaps cuda = record(model, *task, inputs, 0, torch::kCUDA);
    for (std::size_t layer = 0; layer < cpu.layers.size(); ++layer) {
      for (std::size_t i = 0; i < cpu.layers[layer].values.size(); ++i) {
        ASSERT_NEAR(cpu.layers[layer].values[i], cuda.layers[layer].values[i], 1e-4)
            << name << " layer " << layer;
      }
    }
  }
}

TEST(Cuda, Reverse_trains_to_the_end) {
  if (!has_gpu()) GTEST_SKIP() << "no NVIDIA GPU on this machine";
  RunConfig config = default_config("reverse");
  config.train.device = DeviceChoice::kCuda;
  const auto task = make_task(config);
  const RunResult result = run_training(config, *task, {});
  EXPECT_EQ(result.device, "cuda");
  EXPECT_DOUBLE_EQ(result.test.sequence_accuracy, 1.0);
}

TEST(Cuda, A17_lower_precision_trains_to_the_end) {
  if (!has_gpu()) GTEST_SKIP() << "no NVIDIA GPU on this machine";
  for (const Precision precision : {Precision::kBfloat16, Precision::kFloat16}) {
    RunConfig config = default_config("reverse");
    config.train.device = DeviceChoice::kCuda;
    config.train.precision = precision;
    const RunResult result = run_training(config, *make_task(config), {});
    EXPECT_EQ(result.ending, Ending::kComplete);
    EXPECT_GT(result.test.sequence_accuracy, 0.999);
  }
}

TEST(Cuda, A_captured_step_is_the_eager_step) {
  if (!has_gpu()) GTEST_SKIP() << "no NVIDIA GPU on this machine";
  for (const char* name : {"reverse", "induction", "dates", "digits", "regression"}) {
    SCOPED_TRACE(name);
    expect_twins_agree(default_config(name), torch::Device(torch::kCUDA, 0), 1e-5);
  }
}

TEST(Cuda, A_captured_step_in_bfloat16_is_the_eager_step) {
  if (!has_gpu()) GTEST_SKIP() << "no NVIDIA GPU on this machine";
  RunConfig config = default_config("reverse");
  config.train.precision = Precision::kBfloat16;
  expect_twins_agree(config, torch::Device(torch::kCUDA, 0), 1e-2);
}

TEST(Cuda, Dropout_draws_anew_in_each_replay) {
  if (!has_gpu()) GTEST_SKIP() << "no NVIDIA GPU on this machine";
  RunConfig config = default_config("induction");
  config.model.dropout = config.model.attention.attention_dropout = 0.1;
  const auto task = make_task(config);
  const torch::Device device(torch::kCUDA, 0);
  Twin twin(config, *task, device);
  CapturedStep captured(twin.optimizer, 1.0, device,
                        [&](const BatchTensors& batch) { return twin.backward(batch); });
  const tasks::Batch batch = task->batch(tasks::Split::kTrain, 0, config.train.batch);
  constexpr std::int64_t kSteps = 10;
  for (std::int64_t step = 1; step <= kSteps; ++step) ASSERT_TRUE(captured.take(step, 0.0, batch));
  std::set<double> losses;
  for (const StepReading& reading : captured.wait()) losses.insert(reading.loss);
  EXPECT_EQ(std::ssize(losses), kSteps) << "some steps dropped the same";
}

}  // namespace
}  // namespace headtorch::train
