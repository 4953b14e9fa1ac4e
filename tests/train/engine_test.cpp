#include <gmock/gmock.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "models/mini_transformer.hpp"
#include "src/tasks/batch.hpp"
#include "train/adamw.hpp"
#include "train/batch.hpp"
#include "train/engine_for.hpp"
#include "train/head_study.hpp"
#include "train/precision.hpp"
#include "train/record.hpp"
#include "train/run.hpp"

// The engine computes what the modules compute: they are the reference, in float64.

namespace headtorch::train {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kStep = 3, kFirstExample = 5;

struct Case {
  std::string name, task, toml;
};

std::vector<Case> cases() {
  const auto model = [](const std::string& rest) {
    return "[model]\nn_layers = 2\nn_heads = 2\nd_model = 16\nd_ff = 32\ndropout = 0.2\n" + rest;
  };
  return {
      {"pre-norm", "reverse", model("")},
      {"post-norm", "reverse", model("norm = \"post\"\n")},
      {"no dropout", "reverse",
       "[model]\nn_layers = 2\nn_heads = 2\nd_model = 16\nd_ff = 32\ndropout = 0.0\n"},
      {"no dropout, post-norm", "reverse",
       "[model]\nn_layers = 3\nn_heads = 1\nd_model = 8\nd_ff = 8\ndropout = 0.0\nnorm = \"post\"\n"},
      {"dropout on weights only", "reverse",
       "[model]\nd_model = 16\nn_heads = 4\nd_ff = 16\ndropout = 0.0\nattention_dropout = 0.3\n"},
      {"dropout on all but weights", "reverse",
       "[model]\nd_model = 16\nn_heads = 4\nd_ff = 16\ndropout = 0.3\nattention_dropout = 0.0\n"},
      {"causal", "induction", model("")},
      {"causal, post-norm, rope", "induction", model("norm = \"post\"\nposition = \"rope\"\n")},
      {"rope, odd features", "recall",
       "[model]\nn_layers = 2\nn_heads = 3\nd_model = 21\nd_ff = 20\ndropout = 0.1\nposition = \"rope\"\n"},
      {"few positions counted", "add", model("")},
      {"copy, the first three not counted", "copy", model("")},
      {"sinusoidal, relu", "sort", model("position = \"sinusoidal\"\nactivation = \"relu\"\n")},
      {"no position", "histogram", model("position = \"none\"\n")},
      {"RMSNorm", "reverse", model("norm_kind = \"rms\"\n")},
      {"RMSNorm, post-norm", "reverse", model("norm_kind = \"rms\"\nnorm = \"post\"\n")},
      {"attention only", "markov",
       "[model]\nn_layers = 2\nn_heads = 4\nd_model = 16\nd_ff = 0\ndropout = 0.1\n"},
      {"attention only, post-norm", "mqar",
       "[model]\nn_layers = 2\nn_heads = 1\nd_model = 16\nd_ff = 0\ndropout = 0.1\nnorm = "
       "\"post\"\n[task]\nn_symbols = 128\n"},
      {"tied output", "reverse", model("output_weight = \"embedding\"\n")},
      {"a given scale", "reverse", model("scale = 0.3\n")},
      {"label smoothing", "reverse", model("") + "[train]\nlabel_smoothing = 0.2\n"},
      {"label smoothing, few counted", "add", model("") + "[train]\nlabel_smoothing = 0.1\n"},
      {"odd sizes", "reverse",
       "[task]\nseq_len = 13\nn_symbols = 7\n[model]\nn_layers = 3\nn_heads = 5\nd_model = 35\nd_ff = "
       "51\ndropout = 0.1\n"},
      {"one token", "reverse",
       "[task]\nseq_len = 1\n[model]\nn_heads = 1\nd_model = 1\nd_ff = 1\nn_layers = 1\ndropout = 0.0\nnorm "
       "= \"post\"\n"},
      {"longer than a block of rows", "induction",
       "[task]\nseq_len = 70\nn_symbols = 80\n[model]\nn_layers = 2\nn_heads = 3\nd_model = 24\nd_ff = "
       "40\ndropout = 0.1\n"},
      {"numbers beside the tokens", "digits", model("")},
      {"numbers, post-norm, no position", "digits", model("norm = \"post\"\nposition = \"none\"\n")},
      {"squared error", "regression", model("")},
      {"squared error, no dropout, rope", "regression",
       "[model]\nn_layers = 2\nn_heads = 2\nd_model = 16\nd_ff = 32\ndropout = 0.0\nposition = \"rope\"\n"},
      {"wide", "reverse", "[model]\nn_layers = 1\nn_heads = 2\nd_model = 96\nd_ff = 600\ndropout = 0.1\n"},
  };
}

/// A batch of a task, and a model for it.
struct Setting {
  explicit Setting(const Case& given) {
    config = default_config(given.task);
    read_toml(given.toml, given.name, config);
    config.train.device = DeviceChoice::kCpu;
    config.train.seed = 11;
    check(config);
    task = make_task(config);
    batch = task->batch(tasks::Split::kTrain, 100, 9);
  }

  models::MiniTransformer model(torch::Dtype dtype) const {
    torch::manual_seed(4);
    models::MiniTransformer made(config.model, sizes_for(config, *task));
    const torch::NoGradGuard no_grad;
    // Biases and norms too must matter.
    for (torch::Tensor& parameter : made->parameters()) parameter.add_(0.1 * torch::randn_like(parameter));
    made->to(dtype);
    made->train();
    return made;
  }

  RunConfig config;
  std::unique_ptr<tasks::Task> task;
  tasks::Batch batch;
};

struct Gradient {
  double loss = 0.0;
  torch::Tensor flat;  // float64
};

Gradient by_modules(const Setting& setting, torch::Dtype dtype, Precision precision = Precision::kFloat32) {
  models::MiniTransformer model = setting.model(dtype);
  const AdamW optimizer(*model, {});
  nn::DropoutStream stream(static_cast<std::uint64_t>(setting.config.train.seed), kStep, kFirstExample);
  nn::Context context;
  context.dropout = &stream;
  BatchTensors tensors = to_tensors(setting.batch, torch::kCPU);
  for (torch::Tensor* numbers : {&tensors.input.target.features, &tensors.values_BT})
    if (numbers->defined()) *numbers = numbers->to(dtype);
  torch::Tensor loss;
  {
    const Autocast lower(precision, torch::kCPU);
    loss = summed_loss(model->forward(tensors.input, context), tensors, setting.config.train.label_smoothing);
  }
  torch::Tensor flat = optimizer.new_gradient();
  optimizer.add(
      torch::autograd::grad({loss}, optimizer.parameters(), {}, false, false, /*allow_unused=*/true), flat);
  return {loss.item<double>(), flat.to(torch::kFloat64)};
}

struct Made {
  explicit Made(const Setting& setting, std::int64_t shares = 1)
      : model(setting.model(torch::kFloat32)),
        optimizer(*model, {}),
        engine(make_engine(model, optimizer, setting.config, shares)) {
    engine->refresh();
  }

  Gradient gradient(const tasks::Batch& batch, std::int64_t first_example, std::uint64_t seed,
                    std::int64_t share = 0) const {
    torch::Tensor flat = optimizer.new_gradient();
    const engine::Counted counted = engine->accumulate(share, engine::sequences_of(batch, first_example),
                                                       {seed, kStep}, flat.data_ptr<float>());
    return {counted.loss, flat.to(torch::kFloat64)};
  }

  models::MiniTransformer model;
  AdamW optimizer;
  std::unique_ptr<engine::Engine> engine;
};

double relative(const torch::Tensor& a, const torch::Tensor& b) {
  return ((a - b).norm() / b.norm().clamp_min(1e-30)).item<double>();
}

class Engine : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kernels::kernels() == nullptr) GTEST_SKIP() << "this processor has neither AVX2 nor AVX-512";
  }
};

TEST_F(Engine, Computes_the_gradients_of_the_modules) {
  for (const Case& given : cases()) {
    SCOPED_TRACE(given.name);
    const Setting setting(given);
    ASSERT_THAT(why_modules(setting.config, setting.task->shape(), torch::kCPU), IsEmpty());
    const Gradient exact = by_modules(setting, torch::kFloat64), plain = by_modules(setting, torch::kFloat32);
    const Gradient own = Made(setting).gradient(setting.batch, kFirstExample,
                                                static_cast<std::uint64_t>(setting.config.train.seed));
    EXPECT_NEAR(own.loss, exact.loss, 2e-6 * std::abs(exact.loss) + 1e-6);
    // float32's own error is 1e-7 to 5e-7 here; a wrong mask or a lost term gives 1e-2 and more.
    EXPECT_LT(relative(own.flat, exact.flat), 3.0 * relative(plain.flat, exact.flat) + 5e-7);
  }
}

TEST_F(Engine, Every_instruction_set_computes_them) {
  for (const auto set : {kernels::InstructionSet::kAvx2, kernels::InstructionSet::kAvx512}) {
    const kernels::Kernels* own = kernels::kernels_for(set);
    if (own == nullptr) continue;  // the tests of the kernels say which are missing
    SCOPED_TRACE(own->name);
    for (const Case& given : cases()) {
      SCOPED_TRACE(given.name);
      const Setting setting(given);
      Made made(setting);
      made.engine = std::make_unique<engine::Engine>(engine_model(made.model, made.optimizer, setting.config),
                                                     *own, *own->products, 1);
      made.engine->refresh();
      const Gradient exact = by_modules(setting, torch::kFloat64);
      const Gradient gradient =
          made.gradient(setting.batch, kFirstExample, static_cast<std::uint64_t>(setting.config.train.seed));
      EXPECT_LT(relative(gradient.flat, exact.flat), 3e-6);
    }
  }
}

TEST_F(Engine, Every_gradient_matters_and_is_right_alone) {
  const Setting setting(cases()[0]);
  const Made made(setting);
  const Gradient exact = by_modules(setting, torch::kFloat64);
  const Gradient own =
      made.gradient(setting.batch, kFirstExample, static_cast<std::uint64_t>(setting.config.train.seed));
  std::int64_t offset = 0;
  for (const torch::Tensor& parameter : made.optimizer.parameters()) {
    const auto part = [&](const torch::Tensor& flat) { return flat.narrow(0, offset, parameter.numel()); };
    EXPECT_GT(part(exact.flat).norm().item<double>(), 0.0);
    EXPECT_LT(relative(part(own.flat), part(exact.flat)), 5e-6) << "at " << offset;
    offset += parameter.numel();
  }
}

TEST_F(Engine, Shares_add_up_to_the_whole) {
  for (const Case& given : cases()) {
    SCOPED_TRACE(given.name);
    const Setting setting(given);
    const Made made(setting, 2);
    const Gradient whole = made.gradient(setting.batch, 0, 11);
    const Gradient first = made.gradient(tasks::slice(setting.batch, 0, 4), 0, 11),
                   second = made.gradient(tasks::slice(setting.batch, 4, 5), 4, 11, 1);
    EXPECT_NEAR(first.loss + second.loss, whole.loss, 1e-6 * whole.loss);
    EXPECT_LT(relative(first.flat + second.flat, whole.flat), 2e-6);
  }
}

TEST_F(Engine, The_same_call_gives_the_same_bits) {
  const Setting setting(cases()[0]);
  const Made made(setting, 2);
  const Gradient once = made.gradient(setting.batch, 0, 11);
  made.gradient(tasks::slice(setting.batch, 2, 3), 7, 12);  // leaves other things behind in its memory
  EXPECT_TRUE(torch::equal(made.gradient(setting.batch, 0, 11).flat, once.flat));
  EXPECT_TRUE(torch::equal(made.gradient(setting.batch, 0, 11, 1).flat, once.flat));
  EXPECT_FALSE(torch::equal(made.gradient(setting.batch, 0, 12).flat, once.flat));
  EXPECT_FALSE(torch::equal(made.gradient(setting.batch, 1, 11).flat, once.flat));
}

TEST_F(Engine, Nothing_counted_gives_nothing) {
  const Setting setting(cases()[0]);
  tasks::Batch batch = setting.batch;
  std::fill(batch.labels.begin(), batch.labels.end(), tasks::kNotCounted);
  const Gradient none = Made(setting).gradient(batch, 0, 11);
  EXPECT_EQ(none.loss, 0.0);
  EXPECT_EQ(none.flat.abs().max().item<double>(), 0.0);
}

TEST_F(Engine, What_is_not_finite_stays_so) {
  const Setting setting(cases()[0]);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const Made probe(setting);
    for (std::size_t i = 0; i < probe.optimizer.parameters().size(); ++i) {
      const Made made(setting);
      made.optimizer.parameters()[i].data().flatten()[0].fill_(bad);
      made.engine->refresh();
      const Gradient own = made.gradient(setting.batch, 0, 11);
      EXPECT_FALSE(std::isfinite(own.loss) && std::isfinite(own.flat.norm().item<double>()))
          << "parameter " << i;
    }
  }
}

TEST_F(Engine, Bfloat16_rounds_products_only) {
  if (kernels::bfloat16_products() == nullptr) GTEST_SKIP() << "this processor has no AVX512-BF16";
  for (const Case& given : cases()) {
    SCOPED_TRACE(given.name);
    Setting setting(given);
    const Gradient exact = by_modules(setting, torch::kFloat64),
                   lower = by_modules(setting, torch::kFloat32, Precision::kBfloat16);
    setting.config.train.precision = Precision::kBfloat16;
    const Gradient own = Made(setting).gradient(setting.batch, kFirstExample,
                                                static_cast<std::uint64_t>(setting.config.train.seed));
    EXPECT_NEAR(own.loss, exact.loss, 1e-2 * std::abs(exact.loss));
    // No further off than torch's autocast, but for chance: operands are rounded alike, results there too.
    EXPECT_LT(relative(own.flat, exact.flat), 1.5 * relative(lower.flat, exact.flat));
  }
}

RunConfig short_run(const std::string& task) {
  RunConfig config = default_config(task);
  config.model.n_layers = 2;
  config.model.d_model = 16;
  config.model.n_heads = 2;
  config.model.d_ff = 32;
  config.train.steps = 30;
  config.train.batch = 9;
  config.train.warmup = 4;
  config.train.threads = 1;
  config.train.eval_every = 0;
  config.train.device = DeviceChoice::kCpu;
  return config;
}

struct Told {
  RunResult result;
  std::string kernels, why_not;
  std::vector<double> losses;
};

Told train(const RunConfig& config) {
  Told told;
  RunObserver observer;
  observer.on_start = [&](std::string_view kernels, std::string_view why_not) {
    told.kernels = kernels;
    told.why_not = why_not;
  };
  observer.on_step = [&](const StepMetrics& step) { told.losses.push_back(step.loss); };
  told.result = run_training(config, *make_task(config), observer);
  return told;
}

TEST_F(Engine, A_run_goes_as_it_goes_through_the_modules) {
  for (const char* task : {"reverse", "induction", "copy", "regression", "digits"}) {
    SCOPED_TRACE(task);
    RunConfig config = short_run(task);
    const Told own = train(config);
    EXPECT_EQ(own.result.engine, "kernels");
    EXPECT_THAT(own.kernels, HasSubstr("AVX"));
    config.train.engine = EngineChoice::kModules;
    const Told modules = train(config);
    EXPECT_EQ(modules.result.engine, "modules");
    EXPECT_THAT(modules.why_not, HasSubstr("engine = modules"));
    ASSERT_EQ(own.losses.size(), modules.losses.size());
    for (std::size_t i = 0; i < own.losses.size(); ++i)
      EXPECT_NEAR(own.losses[i], modules.losses[i], 2e-4) << i;
    EXPECT_NEAR(own.result.test.loss, modules.result.test.loss, 2e-4);
    EXPECT_EQ(own.result.test.r2.has_value(), modules.result.test.r2.has_value());
    EXPECT_NEAR(own.result.test.r2.value_or(0.0), modules.result.test.r2.value_or(0.0), 2e-4);
  }
}

TEST_F(Engine, Threads_and_accumulation_change_rounding_only) {
  RunConfig config = short_run("reverse");
  const Told one = train(config);
  config.train.threads = 3;
  const Told three = train(config), again = train(config);
  EXPECT_EQ(three.losses, again.losses);
  for (std::size_t i = 0; i < one.losses.size(); ++i) EXPECT_NEAR(one.losses[i], three.losses[i], 2e-4) << i;
  config.train.threads = 1;
  config.train.accumulate = 3;
  const Told own = train(config);
  config.train.engine = EngineChoice::kModules;
  const Told modules = train(config);
  for (std::size_t i = 0; i < own.losses.size(); ++i)
    EXPECT_NEAR(own.losses[i], modules.losses[i], 2e-4) << i;
}

TEST_F(Engine, A_run_that_diverges_ends_as_one_also_when_its_heads_cannot_be_read) {
  RunConfig config = default_config("reverse");
  config.train.lr = 1e3;
  config.train.clip = 0.0;
  config.train.warmup = 0;
  config.model.dropout = config.model.attention.attention_dropout = 0.0;
  config.train.steps = 200;
  config.train.eval_every = 0;
  config.train.device = DeviceChoice::kCpu;
  RunObserver observer;
  observer.on_heads = [](const HeadStudy&) {};
  const RunResult result = run_training(config, *make_task(config), observer);
  EXPECT_EQ(result.ending, Ending::kDiverged);
  EXPECT_EQ(result.non_finite_steps, 10);
}

TEST_F(Engine, Says_why_the_modules_train) {
  const auto why = [](const std::string& task, const std::string& toml) {
    RunConfig config = default_config(task);
    read_toml(toml, "test", config);
    return why_modules(config, make_task(config)->shape(), torch::kCPU);
  };
  EXPECT_THAT(why("dates", ""), HasSubstr("encoder-decoder"));
  EXPECT_THAT(why("reverse", "[model]\nscore = \"cosine\"\n"), HasSubstr("cosine"));
  EXPECT_THAT(why("reverse", "[model]\nscale = \"learned\"\n"), HasSubstr("temperature"));
  EXPECT_THAT(why("reverse", "[model]\nposition = \"alibi\"\n"), HasSubstr("alibi"));
  EXPECT_THAT(why("reverse", "[model]\nactivation = \"swiglu\"\n"), HasSubstr("swiglu"));
  EXPECT_THAT(why("reverse", "[model]\nwindow = 3\n"), HasSubstr("window"));
  EXPECT_THAT(why("reverse", "[train]\nrecompute = true\n"), HasSubstr("recompute"));
  EXPECT_THAT(why("reverse", "[train]\nentropy_weight = 0.1\n"), HasSubstr("entropy_weight"));
  EXPECT_THAT(why("reverse", "[task]\nseq_len = 4096\n"), HasSubstr("4096"));
  for (const char* task : {"reverse", "digits", "regression"}) EXPECT_THAT(why(task, ""), IsEmpty());
}

}  // namespace
}  // namespace headtorch::train
