#include "train/precision.hpp"

#include <ATen/autocast_mode.h>
#include <gmock/gmock.h>
#include <torch/torch.h>

#include <cmath>

#include "tests/support/errors.hpp"
#include "tests/train/untrained.hpp"
#include "train/batch.hpp"
#include "train/run.hpp"

namespace headtorch::train {
namespace {

using test::fails;
using testing::HasSubstr;
using torch::Tensor;

bool multiplies_bfloat16() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16") != 0;
#else
  return false;
#endif
}

TEST(LossScale, halves_after_what_is_not_finite_and_doubles_after_2000_that_are) {
  LossScale scale(Precision::kFloat16);
  EXPECT_EQ(scale.factor(), 65536.0);
  scale.update(false);
  EXPECT_EQ(scale.factor(), 32768.0);
  for (int step = 0; step < 1999; ++step) scale.update(true);
  EXPECT_EQ(scale.factor(), 32768.0);
  scale.update(true);
  EXPECT_EQ(scale.factor(), 65536.0);
  // A bad step starts the count again.
  for (int step = 0; step < 1999; ++step) scale.update(true);
  scale.update(false);
  for (int step = 0; step < 1999; ++step) scale.update(true);
  EXPECT_EQ(scale.factor(), 32768.0);
}

TEST(LossScale, stays_between_1_and_its_largest) {
  LossScale falling(Precision::kFloat16), rising(Precision::kFloat16);
  for (int step = 0; step < 40; ++step) falling.update(false);
  EXPECT_EQ(falling.factor(), 1.0);
  for (int step = 0; step < 40 * 2000; ++step) rising.update(true);
  EXPECT_EQ(rising.factor(), 16777216.0);
}

TEST(LossScale, is_1_for_other_precisions_whatever_happens) {
  for (const Precision precision : {Precision::kFloat32, Precision::kBfloat16}) {
    LossScale scale(precision);
    for (int step = 0; step < 3000; ++step) scale.update(step % 7 != 0);
    EXPECT_EQ(scale.factor(), 1.0);
  }
}

TEST(PrecisionCheck, names_what_is_missing) {
  EXPECT_NO_THROW(check_precision(Precision::kFloat32, torch::kCPU));
  EXPECT_TRUE(fails([] { check_precision(Precision::kFloat16, torch::kCPU); }, ExitCode::kBadConfig,
                    HasSubstr("GPU")));
  if (multiplies_bfloat16()) {
    EXPECT_NO_THROW(check_precision(Precision::kBfloat16, torch::kCPU));
  } else {
    EXPECT_TRUE(fails([] { check_precision(Precision::kBfloat16, torch::kCPU); }, ExitCode::kBadConfig,
                      HasSubstr("AVX512-BF16")));
  }
}

/// Loss, gradients, and weights of each head of one pass.
struct Pass {
  Tensor logits, loss;
  std::vector<Tensor> gradients, patterns;
};

Pass pass(const Untrained& made, Precision precision) {
  models::MiniTransformer model = made.model;
  model->eval();
  const BatchTensors batch = to_tensors(default_inputs(*made.task, 4), torch::kCPU);
  nn::HeadProbe probe;
  nn::Context context;
  context.probe = &probe;
  Pass found;
  {
    const Autocast lower(precision, torch::kCPU);
    found.logits = model->forward(batch.input, context);
    found.loss = summed_loss(found.logits, batch);
  }
  found.gradients = torch::autograd::grad({found.loss}, model->parameters(), {}, false, false, true);
  found.patterns = probe.patterns;
  return found;
}

// Slow but right on any processor: the check above is for speed.
TEST(Autocast, lowers_products_alone_and_leaves_nothing_behind) {
  for (const models::Family family : {models::Family::kEncoder, models::Family::kEncoderDecoder}) {
    for (const nn::Score score : {nn::Score::kDot, nn::Score::kGaussian, nn::Score::kLinear}) {
      RunConfig config = small_config("copy", family);
      config.model.attention.score = score;
      const Untrained made = untrained(config);
      const Pass full = pass(made, Precision::kFloat32), low = pass(made, Precision::kBfloat16);
      const Pass again = pass(made, Precision::kFloat32);
      EXPECT_TRUE(torch::equal(again.logits, full.logits)) << "the lower precision stays on";
      EXPECT_EQ(low.logits.scalar_type(), torch::kBFloat16) << "the premise: it was on";
      EXPECT_EQ(low.loss.scalar_type(), torch::kFloat);
      // bfloat16 has 8 bits: an error of 2^-9 a product, several products deep.
      EXPECT_NEAR(low.loss.item<double>() / full.loss.item<double>(), 1.0, 0.02);
      for (std::size_t place = 0; place < full.patterns.size(); ++place) {
        const Tensor sums = low.patterns[place].to(torch::kDouble).sum(-1);
        // The softmax is computed in float32; weights may be handed on rounded.
        EXPECT_LT((sums - 1.0).abs().max().item<double>(), 0.01);
        EXPECT_LT((low.patterns[place] - full.patterns[place]).abs().max().item<double>(), 0.05);
      }
      for (std::size_t i = 0; i < full.gradients.size(); ++i) {
        ASSERT_EQ(low.gradients[i].defined(), full.gradients[i].defined());
        if (!full.gradients[i].defined()) continue;
        EXPECT_EQ(low.gradients[i].scalar_type(), torch::kFloat);
        const double apart = (low.gradients[i] - full.gradients[i]).norm().item<double>();
        EXPECT_LE(apart, 0.1 * full.gradients[i].norm().item<double>() + 0.05) << i;
      }
    }
  }
}

TEST(Autocast, nests_and_ends) {
  const auto is_on = [] { return at::autocast::is_autocast_enabled(at::kCPU); };
  {
    const Autocast none(Precision::kFloat32, torch::kCPU);
    EXPECT_FALSE(is_on());
    const Autocast lower(Precision::kBfloat16, torch::kCPU);
    EXPECT_TRUE(is_on());
    {
      const Autocast nothing_more(Precision::kFloat32, torch::kCPU);
      EXPECT_TRUE(is_on());
    }
    EXPECT_TRUE(is_on());
  }
  EXPECT_FALSE(is_on());
}

// A17: "loss curves within noise of float32". Noise is what another seed does.
TEST(Bfloat16, trains_within_noise_of_float32) {
  if (!multiplies_bfloat16()) GTEST_SKIP() << "this processor has no AVX512-BF16: bfloat16 is refused here";
  const auto losses = [](Precision precision, std::int64_t seed) {
    RunConfig config = small_config("reverse", models::Family::kEncoder);
    config.model.dropout = config.model.attention.attention_dropout = 0.0;
    config.train.steps = 60;
    config.train.batch = 32;
    config.train.seed = seed;
    config.train.precision = precision;
    std::vector<double> curve;
    RunObserver observer;
    observer.on_step = [&](const StepMetrics& step) { curve.push_back(step.loss); };
    run_training(config, *make_task(config), observer);
    return curve;
  };
  const auto full = losses(Precision::kFloat32, 1), low = losses(Precision::kBfloat16, 1);
  const auto other = losses(Precision::kFloat32, 2);
  const auto apart = [](const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i]);
    return sum / static_cast<double>(a.size());
  };
  EXPECT_LT(apart(low, full), apart(other, full));
}

}  // namespace
}  // namespace headtorch::train
