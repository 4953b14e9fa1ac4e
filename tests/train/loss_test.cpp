// Cross-entropy with label smoothing, and what of a run it changes.

#include <gtest/gtest.h>

#include "tests/support/tensors.hpp"
#include "tests/train/untrained.hpp"
#include "train/batch.hpp"
#include "train/run.hpp"

namespace headtorch::train {
namespace {

using test::close;
using torch::Tensor;

/// Of one example; a label of kNotCounted is not counted.
BatchTensors labelled(const Tensor& labels_T) {
  BatchTensors batch;
  batch.labels_BT = labels_T.unsqueeze(0);
  return batch;
}

TEST(Loss, reference_values_smoothed_or_not) {
  const auto g = test::golden("attention.json")["cross_entropy"];
  const Tensor logits = test::tensor(g["logits"]).unsqueeze(0);
  const Tensor targets = torch::tensor(g["targets"].get<std::vector<std::int64_t>>());
  const double smoothing = g["label_smoothing"], count = static_cast<double>(targets.numel());
  const auto mean = [&](double share) {
    return summed_loss(logits, labelled(targets), share).item<double>() / count;
  };
  EXPECT_NEAR(mean(0.0), g["mean"].get<double>(), 1e-12);
  EXPECT_NEAR(mean(smoothing), g["mean_smoothed"].get<double>(), 1e-12);
  const Tensor some = targets.masked_fill(targets == 4, tasks::kNotCounted);
  const double counted = static_cast<double>((some != tasks::kNotCounted).sum().item<std::int64_t>());
  EXPECT_NEAR(summed_loss(logits, labelled(some)).item<double>() / counted,
              g["mean_ignoring_target_4"].get<double>(), 1e-12);
}

TEST(Loss, of_each_position_sums_to_the_whole) {
  const Tensor logits = test::normal({2, 5, 7}, 1),
               labels = torch::tensor({{0, 6, -1, 2, 2}, {-1, -1, 3, 1, 5}});
  BatchTensors batch;
  batch.labels_BT = labels;
  for (const double smoothing : {0.0, 0.1, 0.7}) {
    const Tensor by_position = position_losses(logits, batch, smoothing);
    EXPECT_TRUE(close(by_position.sum(), summed_loss(logits, batch, smoothing)));
    EXPECT_TRUE((by_position.masked_select(labels == -1) == 0.0).all().item<bool>());
    // By the formula: (1 - s) of the label's, s of the mean over classes.
    const Tensor log_p = torch::log_softmax(logits, -1);
    const Tensor own = -log_p.gather(-1, labels.clamp_min(0).unsqueeze(-1)).squeeze(-1);
    const Tensor want = ((1.0 - smoothing) * own - smoothing * log_p.mean(-1)).masked_fill(labels == -1, 0.0);
    EXPECT_TRUE(close(by_position, want));
  }
}

TEST(Loss, smoothed_has_the_numeric_gradient) {
  const Tensor logits = test::normal({1, 4, 5}, 1);
  const BatchTensors batch = labelled(torch::tensor({0, 4, -1, 2}));
  const auto f = [&](const Tensor& x) { return summed_loss(x, batch, 0.2); };
  EXPECT_TRUE(close(test::analytic_gradient(f, logits), test::numeric_gradient(f, logits),
                    test::kNumericGradientTolerance));
}

TEST(Loss, of_half_precision_logits_is_float32) {
  const BatchTensors batch = labelled(torch::tensor({0, 1}));
  const Tensor logits = test::normal({1, 2, 3}, 1);
  for (const torch::Dtype dtype : {torch::kBFloat16, torch::kHalf}) {
    EXPECT_EQ(summed_loss(logits.to(dtype), batch).scalar_type(), torch::kFloat);
    EXPECT_EQ(position_losses(logits.to(dtype), batch).scalar_type(), torch::kFloat);
  }
}

TEST(Loss, smoothing_is_for_training_and_not_for_evaluation) {
  const auto first = [](double smoothing) {
    RunConfig config = small_config("reverse", models::Family::kEncoder);
    config.train.steps = 1;
    config.train.label_smoothing = smoothing;
    std::pair<double, double> losses;
    RunObserver observer;
    observer.on_step = [&](const StepMetrics& step) { losses.first = step.loss; };
    observer.on_evaluation = [&](std::int64_t step, const Evaluation& evaluation, double) {
      if (step == 0) losses.second = evaluation.loss;
    };
    run_training(config, *make_task(config), observer);
    return losses;
  };
  const auto [plain_step, plain_evaluation] = first(0.0);
  const auto [smooth_step, smooth_evaluation] = first(0.3);
  EXPECT_NE(smooth_step, plain_step);
  EXPECT_EQ(smooth_evaluation, plain_evaluation);
}

}  // namespace
}  // namespace headtorch::train
