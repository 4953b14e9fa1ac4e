#include "train/row_importance.hpp"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

#include "train/batch.hpp"
#include "train/record.hpp"
#include "train/run.hpp"

namespace headtorch::train {
namespace {

struct Example {
  std::unique_ptr<tasks::Task> task;
  models::MiniTransformer model{nullptr};
};

Example make_example(const std::string& name, nn::Score score = nn::Score::kDot) {
  RunConfig config = default_config(name);
  config.task.seq_len = 12;
  config.model.n_layers = 2;
  config.model.n_heads = 2;
  config.model.d_model = 8;
  config.model.d_ff = 16;
  config.model.dropout = 0.3;
  config.model.qk_gain = 4.0;
  config.model.attention.score = score;
  Example made;
  made.task = tasks::make_task(config.task, 3);
  torch::manual_seed(5);
  made.model = models::MiniTransformer(config.model, sizes_for(made.task->shape()));
  made.model->to(torch::kDouble);
  return made;
}

/// The header's M by loops, with one row of weights moved towards uniform by `share`.
double margin(Example& made, std::int64_t example, std::int64_t layer, std::int64_t head, std::int64_t row,
              double share) {
  const torch::NoGradGuard no_grad;
  made.model->eval();
  nn::HeadProbe probe;
  probe.edit_pattern = [&](std::int64_t at, const torch::Tensor& pattern) {
    if (at != layer) return pattern;
    torch::Tensor edited = pattern.clone();
    const bool causal = made.model->options().family == models::Family::kCausal;
    const std::int64_t visible = causal ? row + 1 : edited.size(-1);
    torch::Tensor weights = edited.select(1, head).select(1, row).narrow(1, 0, visible);
    weights.mul_(1.0 - share).add_(share / static_cast<double>(visible));
    return edited;
  };
  nn::Context context;
  context.probe = &probe;
  const BatchTensors batch = to_tensors(made.task->batch(tasks::Split::kTest, example, 1), torch::kCPU);
  const torch::Tensor logits = made.model->forward(batch.input, context);
  double sum = 0.0;
  for (std::int64_t t = 0; t < logits.size(1); ++t) {
    const std::int64_t label = batch.labels_BT[0][t].item<std::int64_t>();
    if (label == tasks::kNotCounted) continue;
    double others = 0.0;
    for (std::int64_t c = 0; c < logits.size(2); ++c) {
      if (c != label) others += std::exp(logits[0][t][c].item<double>());
    }
    sum += logits[0][t][label].item<double>() - std::log(others);
  }
  made.model->train();
  return sum;
}

class RowImportance : public ::testing::TestWithParam<std::pair<const char*, nn::Score>> {};

TEST_P(RowImportance, Is_the_slope_of_the_margin_towards_uniform) {
  Example made = make_example(GetParam().first, GetParam().second);
  const auto importance = row_importance(made.model, *made.task, tasks::Split::kTest, 4, 2);
  const std::int64_t length = made.task->shape().seq_len;
  ASSERT_EQ(importance.size(), 2u);
  ASSERT_EQ(importance[0].size(), static_cast<std::size_t>(2 * length));
  double largest = 0.0;
  for (std::int64_t layer = 0; layer < 2; ++layer) {
    for (std::int64_t head = 0; head < 2; ++head) {
      for (std::int64_t row = 0; row < length; ++row) {
        constexpr double kStep = 1e-5;
        double mean = 0.0;
        for (std::int64_t example = 4; example < 6; ++example) {
          const double slope = (margin(made, example, layer, head, row, kStep) -
                                margin(made, example, layer, head, row, -kStep)) /
                               (2.0 * kStep);
          mean += 0.5 * std::abs(slope);
        }
        const double found =
            importance[static_cast<std::size_t>(layer)][static_cast<std::size_t>(head * length + row)];
        // Central differences are good to kStep squared times the third derivative, and to 1e-16 / kStep.
        EXPECT_NEAR(found, mean, 1e-7 * std::max(1.0, mean)) << layer << " " << head << " " << row;
        largest = std::max(largest, found);
      }
    }
  }
  EXPECT_GT(largest, 1e-3);
}
INSTANTIATE_TEST_SUITE_P(Kinds, RowImportance,
                         ::testing::Values(std::pair("reverse", nn::Score::kDot),
                                           std::pair("induction", nn::Score::kDot),
                                           std::pair("reverse", nn::Score::kFixedGaussian)));

TEST(RowImportance, Leaves_the_model_and_its_gradients_alone) {
  Example made = make_example("reverse");
  const torch::Tensor weight = made.model->parameters().front();
  const torch::Tensor before = weight.detach().clone();
  weight.mutable_grad() = torch::ones_like(weight);
  const torch::NoGradGuard callers_may_be_in_one;
  row_importance(made.model, *made.task, tasks::Split::kTest, 0, 3);
  EXPECT_TRUE(made.model->is_training());
  EXPECT_TRUE(torch::equal(weight, before));
  EXPECT_TRUE(torch::equal(weight.grad(), torch::ones_like(weight)));
}

TEST(RowImportance, Does_not_depend_on_how_examples_are_cut) {
  Example made = make_example("reverse");
  const auto whole = row_importance(made.model, *made.task, tasks::Split::kTest, 0, 200);
  const auto first = row_importance(made.model, *made.task, tasks::Split::kTest, 0, 50);
  const auto rest = row_importance(made.model, *made.task, tasks::Split::kTest, 50, 150);
  for (std::size_t i = 0; i < whole[0].size(); ++i)
    EXPECT_NEAR(whole[0][i], 0.25 * first[0][i] + 0.75 * rest[0][i], 1e-12);
}

TEST(RowImportance, Is_zero_for_rows_that_reach_no_label) {
  Example made = make_example("induction");
  const auto importance = row_importance(made.model, *made.task, tasks::Split::kTest, 0, 4);
  // A causal row's only key has nowhere else to go.
  EXPECT_EQ(importance[0][0], 0.0);
  EXPECT_EQ(importance[1][0], 0.0);
}

}  // namespace
}  // namespace headtorch::train
