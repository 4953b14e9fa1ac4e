#include "train/adamw.hpp"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>

namespace headtorch::train {
namespace {

struct OneMatrix : torch::nn::Module {
  explicit OneMatrix(const torch::Tensor& start) { value = register_parameter("value", start); }
  torch::Tensor value;
};

// reference/attention.json "adamw": float64, gradient 2 theta + (0.5, 0), decay 0.01.
TEST(AdamW, Follows_the_reference) {
  OneMatrix module(torch::tensor({{1.0, -2.0}}, torch::kDouble));
  AdamW optimizer(module, {.weight_decay = 0.01});
  const double expected[3][2] = {{0.8990000003999999, -1.89800000025},
                                 {0.7984087988757715, -1.7962725886447977},
                                 {0.6984734747642302, -1.6949445143849766}};
  for (const auto& row : expected) {
    const torch::Tensor gradient = 2.0 * module.value.detach() + torch::tensor({{0.5, 0.0}}, torch::kDouble);
    optimizer.gradient().zero_();
    optimizer.add({gradient}, optimizer.gradient());
    optimizer.step(0.1, 0.0);
    EXPECT_NEAR(module.value[0][0].item<double>(), row[0], 1e-12);
    EXPECT_NEAR(module.value[0][1].item<double>(), row[1], 1e-12);
  }
}

// The recursion of case G27, here without the interruption.
TEST(AdamW, G27_moments_and_bias_correction) {
  OneMatrix module(torch::ones({1, 1}, torch::kDouble));
  AdamW optimizer(module, {.weight_decay = 0.0});
  const double gradients[] = {1.0, -0.5, 2.0, 0.3}, expected[] = {0.9, 0.8733663, 0.8075551, 0.7465538};
  for (int i = 0; i < 4; ++i) {
    optimizer.gradient().fill_(gradients[i]);
    optimizer.step(0.1, 0.0);
    EXPECT_NEAR(module.value.item<double>(), expected[i], 1e-7) << "step " << i + 1;
  }
}

TEST(AdamW, Decays_matrices_and_spares_biases_and_norms) {
  torch::nn::Linear linear(3, 2);
  AdamW optimizer(*linear, {.weight_decay = 0.5});
  const torch::Tensor weight = linear->weight.detach().clone(), bias = linear->bias.detach().clone();
  optimizer.step(0.1, 0.0);  // gradient zero: decay alone
  EXPECT_TRUE(torch::allclose(linear->weight, weight * 0.95, 1e-6, 1e-7));
  EXPECT_TRUE(torch::equal(linear->bias, bias));
}

TEST(AdamW, Clips_by_global_norm_and_reports_the_norm_before) {
  OneMatrix module(torch::zeros({1, 2}, torch::kDouble));
  AdamW optimizer(module, {.weight_decay = 0.0});
  optimizer.gradient().copy_(torch::tensor({3.0, 4.0}, torch::kDouble));
  EXPECT_DOUBLE_EQ(optimizer.step(0.1, 1.0), 5.0);
  // From the second step on, the size of the first gradient shows.
  OneMatrix other(torch::zeros({1, 2}, torch::kDouble));
  AdamW unclipped(other, {.weight_decay = 0.0});
  unclipped.gradient().copy_(torch::tensor({6.0, 8.0}, torch::kDouble));
  EXPECT_DOUBLE_EQ(unclipped.step(0.1, 0.0, 0.1), 1.0);
  for (AdamW* each : {&optimizer, &unclipped}) {
    each->gradient().copy_(torch::tensor({0.3, 0.1}, torch::kDouble));
    each->step(0.1, 1.0);
  }
  EXPECT_TRUE(torch::allclose(module.value, other.value, 0.0, 1e-12));
}

TEST(AdamW, A_norm_that_is_not_finite_changes_nothing) {
  OneMatrix module(torch::ones({2, 2}));
  AdamW optimizer(module, {});
  optimizer.gradient().fill_(1.0);
  optimizer.step(0.1, 1.0);
  const torch::Tensor before = module.value.detach().clone();
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    optimizer.gradient().fill_(1.0);
    optimizer.gradient()[0] = bad;
    EXPECT_FALSE(std::isfinite(optimizer.step(0.1, 1.0)));
    EXPECT_TRUE(torch::equal(module.value, before));
  }
  // Moments and step count are as after one step, too: the next step equals that of a run without the bad
  // ones.
  OneMatrix twin(torch::ones({2, 2}));
  AdamW twin_optimizer(twin, {});
  for (int step = 0; step < 2; ++step) {
    twin_optimizer.gradient().fill_(1.0);
    twin_optimizer.step(0.1, 1.0);
  }
  optimizer.gradient().fill_(1.0);
  optimizer.step(0.1, 1.0);
  EXPECT_TRUE(torch::equal(module.value, twin.value));
}

TEST(AdamW, Leaves_views_on_which_any_optimizer_works) {
  torch::nn::Linear linear(3, 2);
  AdamW flat(*linear, {});
  const torch::Tensor before = linear->weight.detach().clone();
  flat.gradient().fill_(0.5);
  torch::optim::SGD sgd(linear->parameters(), torch::optim::SGDOptions(0.1));
  sgd.step();
  EXPECT_TRUE(torch::allclose(linear->weight, before - 0.05));
  EXPECT_TRUE(torch::equal(flat.values().narrow(0, 0, 6).view({2, 3}), linear->weight));
  sgd.zero_grad(/*set_to_none=*/false);
  EXPECT_EQ(flat.gradient().abs().max().item<double>(), 0.0);
  linear->forward(torch::ones({1, 3})).sum().backward();
  EXPECT_EQ(flat.gradient().sum().item<double>(), 8.0);
}

// What a CUDA graph holds, here on the CPU: the same numbers as the step that reads the norm.
TEST(AdamW, A_step_on_the_device_is_the_same_step) {
  for (const double clip : {0.0, 0.5, 100.0}) {
    torch::manual_seed(1);
    torch::nn::Linear module(7, 5), twin(7, 5);
    torch::nn::utils::vector_to_parameters(torch::nn::utils::parameters_to_vector(module->parameters()),
                                           twin->parameters());
    AdamW optimizer(*module, {.weight_decay = 0.1}), on_device(*twin, {.weight_decay = 0.1});
    for (int step = 1; step <= 50; ++step) {
      const double lr = 1e-2 / step;
      const torch::Tensor gradient = torch::randn_like(optimizer.gradient());
      if (step % 7 == 0) gradient[step % 3] = std::numeric_limits<double>::quiet_NaN();
      if (step % 11 == 0) gradient[step % 3] = std::numeric_limits<double>::infinity();
      optimizer.gradient().copy_(gradient);
      on_device.gradient().copy_(gradient);
      const double norm = optimizer.step(lr, clip, 0.5);
      const auto number = [](double value) { return torch::tensor(static_cast<float>(value)); };
      const double same = on_device.step_on_device(number(lr), clip, number(0.5)).item<double>();
      EXPECT_EQ(std::isfinite(norm), std::isfinite(same)) << "clip " << clip << " step " << step;
      if (std::isfinite(norm)) {
        EXPECT_NEAR(norm, same, 1e-6 * norm);
      }
      // Adam divides a gradient by its own size: what rounding does to both cancels but for a few last
      // digits.
      EXPECT_TRUE(torch::allclose(module->weight, twin->weight, 1e-5, 1e-7)) << clip << " step " << step;
      EXPECT_TRUE(torch::allclose(module->bias, twin->bias, 1e-5, 1e-7)) << clip << " step " << step;
    }
  }
}

}  // namespace
}  // namespace headtorch::train
