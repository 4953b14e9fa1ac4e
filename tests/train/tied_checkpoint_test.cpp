// G20: tied embeddings through a file, and through a step of training.

#include <gtest/gtest.h>

#include "src/core/error.hpp"
#include "src/store/safetensors.hpp"
#include "tests/support/tensors.hpp"
#include "tests/train/untrained.hpp"
#include "train/adamw.hpp"
#include "train/batch.hpp"
#include "train/run.hpp"

namespace headtorch::train {
namespace {

using test::identical;
using torch::Tensor;

RunConfig tied(models::Family family) {
  RunConfig config = small_config(family == models::Family::kCausal ? "induction" : "sort", family);
  config.model.output_weight = models::OutputWeight::kEmbedding;
  return config;
}

Tensor logits(const models::MiniTransformer& model, const tasks::Task& task) {
  models::MiniTransformer shared = model;
  shared->eval();
  const torch::NoGradGuard no_grad;
  return shared->forward(to_tensors(default_inputs(task, 4), torch::kCPU).input);
}

TEST(TiedCheckpoint, G20_is_stored_once_and_loads_to_the_same_logits) {
  for (const models::Family family : {models::Family::kCausal, models::Family::kEncoder}) {
    const Untrained made = untrained(tied(family));
    const store::TensorFile file = store::read_safetensors(made.bytes(), "model.safetensors");
    EXPECT_TRUE(file.tensors.contains("embedding.weight"));
    EXPECT_FALSE(file.tensors.contains("output.weight"));
    models::MiniTransformer loaded = load_model(made.config, *made.task, made.bytes());
    EXPECT_TRUE(identical(logits(loaded, *made.task), logits(made.model, *made.task)));
    // After loading it is one matrix still: a symbol that no input holds has its logit changed by its row.
    const Tensor before = logits(loaded, *made.task);
    const Tensor tokens_BT = to_tensors(default_inputs(*made.task, 4), torch::kCPU).input.target.tokens;
    for (std::int64_t symbol = 0; symbol < made.task->shape().n_symbols; ++symbol) {
      if ((tokens_BT == symbol).any().item<bool>()) continue;
      const torch::NoGradGuard no_grad;
      loaded->named_parameters()["embedding.weight"][symbol].mul_(2.0);
      const Tensor apart = (logits(loaded, *made.task) - before).abs().amax({0, 1});
      EXPECT_GT(apart[symbol].item<double>(), 0.0);
      EXPECT_EQ(apart.sum().item<double>(), apart[symbol].item<double>());
      break;
    }
  }
}

TEST(TiedCheckpoint, G20_a_file_of_the_other_kind_is_refused_by_name) {
  const Untrained one = untrained(tied(models::Family::kEncoder));
  RunConfig own = one.config;
  own.model.output_weight = models::OutputWeight::kOwn;
  EXPECT_THROW(load_model(own, *one.task, one.bytes()), DataError);
  EXPECT_THROW(load_model(one.config, *one.task, untrained(own).bytes()), DataError);
}

TEST(TiedCheckpoint, G20_a_step_moves_it_once_by_the_gradient_of_both_uses) {
  const Untrained made = untrained(tied(models::Family::kCausal));
  models::MiniTransformer model = made.model;
  model->eval();
  AdamW optimizer(*model, {.weight_decay = 0.0});
  std::int64_t count = 0;
  for (const Tensor& parameter : model->parameters()) count += parameter.numel();
  EXPECT_EQ(optimizer.gradient().numel(), count);
  EXPECT_EQ(optimizer.parameters().size(), model->parameters().size());

  const BatchTensors batch = to_tensors(default_inputs(*made.task, 4), torch::kCPU);
  const Tensor loss = summed_loss(model->forward(batch.input), batch);
  const std::vector<Tensor> gradients = torch::autograd::grad({loss}, optimizer.parameters());
  const Tensor before = model->named_parameters()["embedding.weight"].detach().clone();
  optimizer.gradient().zero_();
  optimizer.add(gradients, optimizer.gradient());
  optimizer.step(0.01, 0.0);
  const Tensor moved = model->named_parameters()["embedding.weight"].detach() - before;
  // AdamW's first step is the sign of the gradient, as far as eps = 1e-8 is small beside it.
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!optimizer.parameters()[i].is_same(model->named_parameters()["embedding.weight"])) continue;
    const Tensor large = gradients[i].abs() > 1e-4;
    EXPECT_TRUE(large.any().item<bool>());
    EXPECT_TRUE(
        test::close(moved.masked_select(large), (gradients[i].sign() * -0.01).masked_select(large), 1e-5));
  }
  const models::MiniTransformer again = load_model(made.config, *made.task, to_safetensors(*model));
  EXPECT_TRUE(identical(logits(again, *made.task), logits(model, *made.task)));
}

TEST(TiedCheckpoint, G20_the_parameter_counts_once_in_a_run) {
  RunConfig config = tied(models::Family::kEncoder);
  config.train.steps = 2;
  const auto task = make_task(config);
  const std::int64_t counted = run_training(config, *task, {}).parameters;
  config.model.output_weight = models::OutputWeight::kOwn;
  const std::int64_t own = run_training(config, *task, {}).parameters;
  EXPECT_EQ(own - counted, task->shape().n_symbols * config.model.d_model);
}

}  // namespace
}  // namespace headtorch::train
