#include "train/ablation.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "src/core/error.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/model_file.hpp"
#include "train/interventions.hpp"

namespace headtorch::train {
namespace {

constexpr std::int64_t kSymbols = 10, kLength = 8, kWidth = 2 * kSymbols, kHeads = 2;
constexpr double kScale = 3.0;

// The model: x_t is one-hot in its first half. Both heads read it, and write what they see into the second
// half, which alone the output reads. So everything known of other positions goes through the heads.

using Half = std::array<double, kSymbols>;
using Stream = std::array<double, kWidth>;
using Matrix = std::array<std::array<double, kLength>, kLength>;

Stream layer_norm(const Stream& x) {
  double mean = 0.0, variance = 0.0;
  for (const double v : x) mean += v / kWidth;
  for (const double v : x) variance += (v - mean) * (v - mean) / kWidth;
  Stream y{};
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = (x[i] - mean) / std::sqrt(variance + 1e-5);
  return y;
}

/// The same model in plain loops, in double.
struct Reference {
  std::array<double, kHeads> copies{};  ///< factor on what each head writes
  std::array<Matrix, kHeads> weights{};

  Half head(const std::vector<std::int64_t>& tokens, std::size_t index, std::size_t row) const {
    Half z{};
    for (std::size_t s = 0; s < kLength; ++s) {
      Stream x{};
      x[static_cast<std::size_t>(tokens[s])] = 1.0;
      const Stream u = layer_norm(x);
      for (std::size_t i = 0; i < kSymbols; ++i) z[i] += weights[index][row][s] * u[i];
    }
    return z;
  }

  double loss(std::int64_t token, std::int64_t label, const std::array<Half, kHeads>& heads) const {
    Stream x{};
    x[static_cast<std::size_t>(token)] = 1.0;
    for (std::size_t h = 0; h < kHeads; ++h) {
      for (std::size_t i = 0; i < kSymbols; ++i) x[kSymbols + i] += copies[h] * heads[h][i];
    }
    const Stream f = layer_norm(x);
    double sum = 0.0;
    for (std::size_t c = 0; c < kSymbols; ++c) sum += std::exp(kScale * f[kSymbols + c]);
    return std::log(sum) - kScale * f[static_cast<std::size_t>(kSymbols + label)];
  }
};

Matrix mirrored() {
  Matrix a{};
  for (std::size_t i = 0; i < kLength; ++i) a[i][kLength - 1 - i] = 1.0;
  return a;
}

Matrix rows_of(const HeadKernel& kernel) {
  Matrix a{};
  for (std::size_t i = 0; i < kLength; ++i) {
    const auto row = kernel_row(kernel, static_cast<std::int64_t>(i), kLength, {false, kLength}, {});
    std::copy(row.begin(), row.end(), a[i].begin());
  }
  return a;
}

Matrix uniform() {
  Matrix a{};
  for (auto& row : a) row.fill(1.0 / kLength);
  return a;
}

const HeadKernel kMirrored{
    .family = KernelFamily::kGaussian, .slope = -1.0, .offset = kLength - 1.0, .bandwidth = 0.05};

struct Known {
  RunConfig config;
  std::unique_ptr<tasks::Task> task;
  std::string model;
  Reference reference;
};

/// @param copies how much each head writes; 0: it does nothing.
Known known(const std::array<double, kHeads>& copies, const HeadKernel& second = {}) {
  Known made;
  made.config = default_config("reverse");
  made.config.task.seq_len = kLength;
  models::ModelOptions& model = made.config.model;
  model.n_layers = 1;
  model.n_heads = kHeads;
  model.d_model = kWidth;
  model.d_ff = 0;
  model.position = nn::Position::kNone;
  model.head_kernels = {{0, 0, kMirrored}, {0, 1, second}};
  made.task = tasks::make_task(made.config.task, 1);
  test::ModelFile file(made.config, kSymbols, kSymbols);
  for (std::int64_t i = 0; i < kSymbols; ++i) {
    file.at("embedding.weight", i, i) = 1.0F;
    file.at("output.weight", i, kSymbols + i) = static_cast<float>(kScale);
    for (std::int64_t h = 0; h < kHeads; ++h) {
      file.at("encoder.layers.0.attention.in_proj_weight", 2 * kWidth + h * kSymbols + i, i) = 1.0F;
      file.at("encoder.layers.0.attention.out_proj.weight", kSymbols + i, h * kSymbols + i) =
          static_cast<float>(copies[static_cast<std::size_t>(h)]);
    }
  }
  made.model = file.bytes();
  made.reference = {copies, {mirrored(), rows_of(second)}};
  return made;
}

/// Mean loss of a variant of the reference over the first n test examples.
/// @param heads (tokens, head, row) -> what the head gives.
template <typename Heads>
double mean_loss(const Known& known, std::int64_t n, const Heads& heads) {
  const tasks::Batch batch = known.task->batch(tasks::Split::kTest, 0, n);
  double sum = 0.0;
  for (std::int64_t example = 0; example < n; ++example) {
    const auto begin = batch.tokens.begin() + example * kLength;
    const std::vector<std::int64_t> tokens(begin, begin + kLength);
    for (std::int64_t t = 0; t < kLength; ++t) {
      std::array<Half, kHeads> z{};
      for (std::size_t h = 0; h < kHeads; ++h) z[h] = heads(tokens, h, static_cast<std::size_t>(t));
      sum += known.reference.loss(tokens[static_cast<std::size_t>(t)],
                                  batch.labels[static_cast<std::size_t>(example * kLength + t)], z);
    }
  }
  return sum / static_cast<double>(n * kLength);
}

double base_loss(const Known& known, std::int64_t n) {
  return mean_loss(known, n, [&](const auto& tokens, std::size_t h, std::size_t row) {
    return known.reference.head(tokens, h, row);
  });
}

probe::HeadReport report_of(std::int64_t head, const HeadKernel& kernel) {
  probe::HeadReport report;
  report.head = head;
  report.kernel.kernel = kernel;
  return report;
}

const std::vector<probe::HeadReport> kBothMirrored = {report_of(0, kMirrored), report_of(1, kMirrored)};

// ---- each replacement against the model in plain loops

TEST(Ablation, differences_are_those_of_direct_evaluation) {
  constexpr std::int64_t kN = 40;
  const Known k = known({1.0, 0.4});
  const auto report = ablate(k.config, *k.task, k.model, kBothMirrored, {.examples = kN});
  const double base = base_loss(k, kN);
  EXPECT_NEAR(report.base.mean_loss(), base, 1e-5);
  ASSERT_EQ(report.heads.size(), 2U);

  const tasks::Batch batch = k.task->batch(tasks::Split::kTest, 0, kN);
  for (std::size_t replaced = 0; replaced < kHeads; ++replaced) {
    const auto lost = [&](const auto& in_place) {
      return mean_loss(k, kN,
                       [&](const std::vector<std::int64_t>& tokens, std::size_t h, std::size_t row) {
                         return h == replaced ? in_place(tokens, row) : k.reference.head(tokens, h, row);
                       }) -
             base;
    };
    std::array<Half, kLength> mean{};
    for (std::int64_t example = 0; example < kN; ++example) {
      const auto begin = batch.tokens.begin() + example * kLength;
      for (std::size_t row = 0; row < kLength; ++row) {
        const Half z = k.reference.head({begin, begin + kLength}, replaced, row);
        for (std::size_t i = 0; i < kSymbols; ++i) mean[row][i] += z[i] / static_cast<double>(kN);
      }
    }
    Reference flat = k.reference, mirror = k.reference;
    flat.weights[replaced] = uniform();
    mirror.weights[replaced] = mirrored();
    const probe::Replaced& found = report.heads[replaced].replaced;
    EXPECT_NEAR(found.removed.loss.value, lost([](const auto&, std::size_t) { return Half{}; }), 1e-5);
    EXPECT_NEAR(found.mean_replaced.loss.value, lost([&](const auto&, std::size_t row) { return mean[row]; }),
                1e-5);
    EXPECT_NEAR(found.uniform.loss.value,
                lost([&](const auto& tokens, std::size_t row) { return flat.head(tokens, replaced, row); }),
                1e-5);
    ASSERT_TRUE(found.kernel_replaced);
    EXPECT_NEAR(found.kernel_replaced->loss.value,
                lost([&](const auto& tokens, std::size_t row) { return mirror.head(tokens, replaced, row); }),
                1e-5);
  }
  // One layer: all its heads are all heads.
  EXPECT_EQ(report.layers.at(0).replaced.removed.loss.value, report.all.removed.loss.value);
  const double nothing_seen = mean_loss(k, kN, [](const auto&, std::size_t, std::size_t) { return Half{}; });
  EXPECT_NEAR(report.all.removed.loss.value, nothing_seen - base, 1e-5);
  // Nothing but the own token is then known, which says nothing of the label.
  EXPECT_NEAR(nothing_seen, std::log(static_cast<double>(kSymbols)), 1e-6);
}

TEST(Ablation, the_head_that_does_the_work_is_named_and_the_idle_one_costs_exactly_nothing) {
  const Known k = known({1.0, 0.0});
  const auto report = ablate(k.config, *k.task, k.model, kBothMirrored, {.examples = 64});
  const probe::HeadAblation &worker = report.heads[0], &idle = report.heads[1];
  EXPECT_GT(worker.replaced.removed.loss.low, 1.0);
  EXPECT_FALSE(worker.dispensable());
  for (const probe::Change* change :
       {&idle.replaced.removed, &idle.replaced.mean_replaced, &idle.replaced.uniform}) {
    EXPECT_EQ(change->loss.value, 0.0);
    EXPECT_EQ(change->loss.high, 0.0);
    EXPECT_EQ(change->accuracy.value, 0.0);
  }
  EXPECT_TRUE(idle.dispensable());
  EXPECT_NEAR(worker.importance, 1.0, 1e-6);
  EXPECT_EQ(idle.importance, 0.0);
  // The worker is its kernel, which so does all that its weights do.
  EXPECT_EQ(worker.replaced.kernel_replaced->loss.value, 0.0);
  EXPECT_EQ(worker.replaced.behaviour_share(), 1.0);
  EXPECT_FALSE(idle.replaced.behaviour_share());
  EXPECT_NEAR(worker.entropy_normalised, 0.0, 1e-6);
  EXPECT_NEAR(idle.entropy_normalised, 1.0, 1e-6);
  // Greedy: the idle one first, at no cost.
  ASSERT_EQ(report.greedy.size(), 2U);
  EXPECT_EQ(report.greedy[0].removed, (HeadPlace{0, 1}));
  EXPECT_EQ(report.greedy[0].heads_left, 1);
  EXPECT_NEAR(report.greedy[0].loss, report.base.mean_loss(), 1e-9);
  EXPECT_NEAR(report.greedy[1].loss, std::log(10.0), 1e-5);
  EXPECT_NEAR(report.greedy[1].random_loss, std::log(10.0), 1e-5);
}

TEST(Ablation, copies_are_missed_only_together) {
  const Known k = known({1.0, 1.0}, kMirrored);
  const auto report = ablate(k.config, *k.task, k.model, kBothMirrored, {.examples = 64});
  EXPECT_LT(report.heads[0].replaced.removed.loss.value, 0.2);
  EXPECT_LT(report.heads[1].replaced.removed.loss.value, 0.2);
  EXPECT_GT(report.all.removed.loss.value, 1.5);
  EXPECT_NEAR(report.heads[0].importance, std::sqrt(0.5), 1e-5);
  EXPECT_NEAR(report.heads[0].random_head, report.heads[1].replaced.removed.loss.value, 1e-12);
  EXPECT_EQ(report.heads[0].like_entropy, (HeadPlace{0, 1}));
}

// Michel et al. 2019, eq. 5: the mean over examples of an absolute value, where signs differ.
TEST(Ablation, importance_is_the_mean_absolute_slope_of_the_loss_in_the_gate) {
  constexpr std::int64_t kN = 24;
  // Far from sure of itself, with a head that writes the own token: it helps where that is the label too.
  const HeadKernel own{.family = KernelFamily::kGaussian, .bandwidth = 0.05};
  const Known k = known({0.01, 0.01}, own);
  const auto report = ablate(k.config, *k.task, k.model, {}, {.examples = kN});
  const tasks::Batch batch = k.task->batch(tasks::Split::kTest, 0, kN);
  std::array<double, kHeads> slopes{};
  bool harms = false, helps = false;
  for (std::size_t gated = 0; gated < kHeads; ++gated) {
    for (std::int64_t example = 0; example < kN; ++example) {
      const auto begin = batch.tokens.begin() + example * kLength;
      const std::vector<std::int64_t> tokens(begin, begin + kLength);
      const auto loss = [&](double gate) {
        double sum = 0.0;
        for (std::size_t t = 0; t < kLength; ++t) {
          std::array<Half, kHeads> z{k.reference.head(tokens, 0, t), k.reference.head(tokens, 1, t)};
          for (double& v : z[gated]) v *= gate;
          sum +=
              k.reference.loss(tokens[t], batch.labels[static_cast<std::size_t>(example * kLength) + t], z);
        }
        return sum / kLength;
      };
      const double slope = (loss(1.0 + 1e-5) - loss(1.0 - 1e-5)) / 2e-5;
      slopes[gated] += std::abs(slope) / static_cast<double>(kN);
      if (gated == 1) (slope > 0.0 ? harms : helps) = true;
    }
  }
  EXPECT_TRUE(harms && helps) << "or the order of absolute value and mean would not matter";
  const double norm = std::hypot(slopes[0], slopes[1]);
  EXPECT_NEAR(report.heads[0].importance, slopes[0] / norm, 1e-5);
  EXPECT_NEAR(report.heads[1].importance, slopes[1] / norm, 1e-5);
  EXPECT_FALSE(report.heads[0].replaced.kernel_replaced) << "no kernels were given";
}

// ---- G22

TEST(Interventions, G22_leave_the_model_as_it_was_and_forget_the_order_of_heads) {
  const Known k = known({1.0, 0.4});
  Interventions model(k.config, *k.task, k.model, 32);
  model.set_kernel({0, 0}, kMirrored);
  model.set_kernel({0, 1}, kMirrored);
  for (const Replacement replacement :
       {Replacement::kRemoved, Replacement::kMean, Replacement::kUniform, Replacement::kKernel}) {
    const auto both = model.measure(replacement, {{0, 0}, {0, 1}}, 32);
    EXPECT_EQ(model.measure(replacement, {{0, 1}, {0, 0}}, 32).loss, both.loss);
    EXPECT_EQ(model.measure(replacement, {{0, 1}, {0, 0}, {0, 1}}, 32).loss, both.loss);
    EXPECT_EQ(model.measure(replacement, {}, 32).loss, model.base().loss)
        << "nothing replaced changes nothing";
  }
  model.importance();
  EXPECT_EQ(model.model(), k.model);
  EXPECT_EQ(Interventions(k.config, *k.task, model.model(), 32).base().loss, model.base().loss);
}

TEST(Interventions, G22_heads_that_are_not_there_are_refused) {
  const Known k = known({1.0, 0.4});
  Interventions model(k.config, *k.task, k.model, 4);
  for (const HeadPlace& place : {HeadPlace{0, 2}, {0, -1}, {1, 0}, {-1, 0}}) {
    EXPECT_TRUE(test::fails([&] { model.measure(Replacement::kRemoved, {place}, 4); }, ExitCode::kBadConfig,
                            testing::HasSubstr("expected L0H0 to L0H1")));
    EXPECT_THROW(model.set_kernel(place, kMirrored), ConfigError);
  }
  EXPECT_TRUE(test::fails(
      [&] {
        model.measure(Replacement::kKernel, {{0, 0}}, 4);
      },
      ExitCode::kBadConfig, testing::HasSubstr("no kernel for L0H0")));
  EXPECT_THROW(ablate(k.config, *k.task, k.model, {report_of(2, kMirrored)}, {.examples = 4}), ConfigError);
  EXPECT_THROW(Interventions(k.config, *k.task, k.model, 0), ConfigError);
  EXPECT_THROW(Interventions(k.config, *k.task, "no model", 4), DataError);
}

TEST(Interventions, first_examples_are_the_first_of_more) {
  const Known k = known({1.0, 0.4});
  Interventions model(k.config, *k.task, k.model, 3000);  // more than one chunk
  const auto all = model.measure(Replacement::kRemoved, {{0, 1}}, 3000);
  const auto some = model.measure(Replacement::kRemoved, {{0, 1}}, 100);
  ASSERT_EQ(all.loss.size(), 3000U);
  ASSERT_EQ(some.loss.size(), 100U);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_NEAR(some.loss[i], all.loss[i], 1e-5);
  EXPECT_EQ(model.measure(Replacement::kRemoved, {}, 1 << 20).loss.size(), 3000U);
}

// ---- how many examples, and one head

TEST(AblationExamples, shrink_with_length_and_heads) {
  RunConfig config = default_config("reverse");
  EXPECT_EQ(ablation_examples(config, *tasks::make_task(config.task, 1)), 1000);
  config.task.seq_len = 512;
  config.model.n_layers = 4;
  config.model.n_heads = 8;
  const std::int64_t few = ablation_examples(config, *tasks::make_task(config.task, 1));
  EXPECT_GE(few, 32);
  EXPECT_LT(few, 200);
}

TEST(OneHead, is_trained_as_configured_and_held_to_the_same_examples) {
  RunConfig config = default_config("reverse");
  config.model.n_layers = 1;
  config.model.n_heads = 4;
  config.model.d_model = 16;
  config.model.d_ff = 16;
  config.model.attention.bandwidth = {1.0, 2.0, 3.0, 4.0};
  config.model.head_kernels = {{0, 3, kMirrored}};
  config.train.steps = 3;
  config.train.batch = 4;
  config.train.eval_every = 0;
  config.train.threads = 1;
  config.train.device = DeviceChoice::kCpu;
  const RunConfig one = one_head_config(config);
  EXPECT_EQ(one.model.n_heads, 1);
  EXPECT_EQ(one.train.steps, config.train.steps);
  EXPECT_NO_THROW(check(one));

  const auto task = tasks::make_task(config.task, 1);
  std::string model;
  RunObserver observer;
  observer.on_checkpoint = [&](std::int64_t, const std::map<std::string, std::string>& files) {
    model = files.at("model.safetensors");
  };
  run_training(config, *task, observer);
  const probe::ExampleResults base = measure_examples(config, *task, model, 50);
  const OneHead trained = train_one_head(config, *task, base, observer);
  EXPECT_EQ(trained.result.steps, 3);
  EXPECT_EQ(trained.examples.loss, measure_examples(one, *task, model, 50).loss);
  EXPECT_NEAR(trained.change.loss.value, trained.examples.mean_loss() - base.mean_loss(), 1e-12);
}

}  // namespace
}  // namespace headtorch::train
