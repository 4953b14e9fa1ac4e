#include "train/captured_step.hpp"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <atomic>
#include <limits>

#include "tests/support/captured_twins.hpp"
#include "tests/support/errors.hpp"
#include "train/device.hpp"
#include "train/side_by_side.hpp"

// On a CPU the step is done at once, so that all but the graph itself is tested here; tests/cuda has the
// rest.

namespace headtorch::train {
namespace {

RunConfig small(const std::string& task) {
  RunConfig config = default_config(task);
  config.model.d_model = 16;
  config.model.n_heads = 2;
  config.model.d_ff = 32;
  config.train.batch = 8;
  return config;
}

TEST(CapturedStep, Trains_as_the_eager_step_does) {
  at::set_num_threads(1);
  for (const char* name : {"reverse", "induction", "dates", "digits", "regression"}) {
    SCOPED_TRACE(name);
    RunConfig config = small(name);
    config.train.label_smoothing = std::string(name) == "reverse" ? 0.1 : 0.0;
    expect_twins_agree(config, torch::kCPU, 1e-5);
  }
}

struct Small {
  RunConfig config = small("regression");
  std::unique_ptr<tasks::Task> task = make_task(config);
  Twin twin{config, *task, torch::kCPU};
  CapturedStep captured{twin.optimizer, 1.0, torch::kCPU,
                        [this](const BatchTensors& batch) { return twin.backward(batch); }};

  tasks::Batch batch(std::int64_t first) const { return task->batch(tasks::Split::kTrain, first, 8); }
};

TEST(CapturedStep, A_loss_that_is_not_finite_changes_nothing) {
  Small small;
  ASSERT_TRUE(small.captured.take(1, 1e-3, small.batch(0)));
  const torch::Tensor before = small.twin.weights().clone();
  tasks::Batch bad = small.batch(8);
  bad.values.assign(bad.values.size(), std::numeric_limits<float>::infinity());
  ASSERT_TRUE(small.captured.take(2, 1e-3, bad));
  EXPECT_TRUE(torch::equal(small.twin.weights(), before));
  const auto readings = small.captured.wait();
  ASSERT_EQ(readings.size(), 2U);
  EXPECT_TRUE(std::isfinite(readings[0].loss) && std::isfinite(readings[0].grad_norm));
  EXPECT_FALSE(std::isfinite(readings[1].grad_norm));
}

TEST(CapturedStep, Nor_does_one_whose_gradient_is_finite) {
  Small small;
  CapturedStep captured(small.twin.optimizer, 1.0, torch::kCPU, [&](const BatchTensors&) {
    small.twin.optimizer.gradient().fill_(1.0);
    return torch::tensor(std::numeric_limits<float>::infinity());
  });
  const torch::Tensor before = small.twin.weights().clone();
  ASSERT_TRUE(captured.take(1, 1e-3, small.batch(0)));
  EXPECT_TRUE(torch::equal(small.twin.weights(), before));
  EXPECT_FALSE(std::isfinite(captured.wait().at(0).grad_norm));
}

TEST(CapturedStep, A_batch_without_counted_positions_is_no_step) {
  Small small;
  const torch::Tensor before = small.twin.weights().clone();
  tasks::Batch empty = small.batch(0);
  empty.labels.assign(empty.labels.size(), tasks::kNotCounted);
  ASSERT_TRUE(small.captured.take(1, 1e-3, empty));
  EXPECT_TRUE(torch::equal(small.twin.weights(), before));
  const auto readings = small.captured.finished();
  ASSERT_EQ(readings.size(), 1U);
  EXPECT_FALSE(readings[0].counted);
}

TEST(CapturedStep, Forgets_no_reading_however_late_it_is_asked) {
  Small small;
  constexpr std::int64_t kSteps = 3 * CapturedStep::kInFlight + 1;
  for (std::int64_t step = 1; step <= kSteps; ++step)
    ASSERT_TRUE(small.captured.take(step, 1e-3, small.batch(8 * step)));
  const auto readings = small.captured.finished();
  ASSERT_EQ(std::ssize(readings), kSteps);
  for (std::int64_t i = 0; i < kSteps; ++i) EXPECT_EQ(readings[static_cast<std::size_t>(i)].step, i + 1);
  EXPECT_TRUE(small.captured.wait().empty());
}

TEST(CapturedStep, Leaves_a_batch_of_another_size_to_the_caller) {
  Small small;
  ASSERT_TRUE(small.captured.take(1, 1e-3, small.batch(0)));
  EXPECT_FALSE(small.captured.take(2, 1e-3, small.task->batch(tasks::Split::kTrain, 8, 5)));
  EXPECT_TRUE(small.captured.take(3, 1e-3, small.batch(16)));
}

TEST(CapturedStep, Says_what_cannot_be_captured) {
  TrainOptions options;
  EXPECT_EQ(why_not_captured(options, "fused"), "");
  EXPECT_NE(why_not_captured(options, "blocked"), "");
  options.accumulate = 2;
  EXPECT_NE(why_not_captured(options, "fused"), "");
  options = {.precision = Precision::kFloat16};
  EXPECT_NE(why_not_captured(options, "fused"), "");
  options = {.recompute = true};
  EXPECT_NE(why_not_captured(options, "fused"), "");
  std::atomic<int> refused = 0;
  const auto job = [&](std::int64_t) { refused += why_not_captured({}, "fused").empty() ? 0 : 1; };
  run_side_by_side(4, 2, job);
  EXPECT_EQ(refused, 4);
  run_side_by_side(4, 1, job);
  EXPECT_EQ(refused, 4);
}

TEST(StepGraph, Without_its_library_says_so) {
  if (choose_device(DeviceChoice::kAuto).is_cuda()) GTEST_SKIP() << "here is a GPU";
  try {
    const StepGraph graph([] {});
    FAIL() << "a graph without a GPU";
  } catch (const NotCapturable& error) {
    EXPECT_EQ(std::string(error.what()).find("[cuda] "), 0U) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace headtorch::train
