#include <gmock/gmock.h>
#include <torch/torch.h>

#include <cmath>
#include <stdexcept>

#include "models/mini_transformer.hpp"
#include "src/core/error.hpp"
#include "src/tasks/batch.hpp"
#include "train/batch.hpp"
#include "train/checkpoint.hpp"
#include "train/evaluate.hpp"
#include "train/memory.hpp"
#include "train/record.hpp"
#include "train/replicas.hpp"
#include "train/run.hpp"

namespace headtorch::train {
namespace {

using ::testing::HasSubstr;

RunConfig tiny(const std::string& task) {
  RunConfig config = default_config(task);
  config.model.n_layers = 1;
  config.model.d_model = 16;
  config.model.n_heads = 2;
  config.model.d_ff = 32;
  config.train.steps = 12;
  config.train.batch = 8;
  config.train.warmup = 4;
  config.train.threads = 1;
  config.train.device = DeviceChoice::kCpu;
  return config;
}

struct Trained {
  RunResult result;
  std::vector<StepMetrics> steps;
  std::string weights;
};

Trained train(const RunConfig& config) {
  const auto task = tasks::make_task(config.task, static_cast<std::uint64_t>(config.train.seed));
  Trained trained;
  RunObserver observer;
  observer.on_step = [&](const StepMetrics& step) { trained.steps.push_back(step); };
  observer.on_checkpoint = [&](std::int64_t, const std::map<std::string, std::string>& files) {
    trained.weights = files.at("model.safetensors");
  };
  trained.result = run_training(config, *task, observer);
  return trained;
}

// --- averages
// --------------------------------------------------------------------------------------------------------

/// Examples whose labels are counted as a test says.
class FixedTask : public tasks::Task {
 public:
  FixedTask(std::int64_t examples, std::vector<std::int64_t> counted) : counted_(std::move(counted)) {
    shape_ = {"fixed", tasks::Reading::kWholeSequence, 4, 4, 3};
    examples_ = examples;
  }
  const tasks::TaskShape& shape() const override { return shape_; }
  std::int64_t size(tasks::Split) const override { return examples_; }
  std::string token_text(std::int64_t token) const override { return std::to_string(token); }
  std::vector<std::int64_t> parse_tokens(std::string_view) const override { return {0}; }
  tasks::Batch batch(tasks::Split, std::int64_t first, std::int64_t count) const override {
    tasks::Batch batch;
    batch.examples = count;
    batch.length = 3;
    for (std::int64_t row = first; row < first + count; ++row) {
      const std::int64_t counted = counted_[static_cast<std::size_t>(row) % counted_.size()];
      for (std::int64_t t = 0; t < 3; ++t) {
        batch.tokens.push_back((row + t) % 4);
        batch.labels.push_back(t < counted ? (row * 3 + t) % 4 : tasks::kNotCounted);
      }
    }
    return batch;
  }

 private:
  tasks::TaskShape shape_;
  std::int64_t examples_ = 0;
  std::vector<std::int64_t> counted_;
};

// Sum of losses / number of counted labels, over examples of unequal length, one at a time and all at once.
TEST(Evaluation, G29_is_a_mean_over_positions) {
  const FixedTask task(7, {3, 1, 2});
  models::MiniTransformer model(models::ModelOptions{.n_layers = 1, .d_model = 8}, sizes_for(task.shape()));
  model->eval();
  double loss = 0.0;
  std::int64_t counted = 0;
  for (std::int64_t row = 0; row < 7; ++row) {
    const BatchTensors one = to_tensors(task.batch(tasks::Split::kTest, row, 1), torch::kCPU);
    const torch::Tensor log_p = torch::log_softmax(model->forward(one.input), -1);
    for (std::int64_t t = 0; t < 3; ++t) {
      const std::int64_t label = one.labels_BT[0][t].item<std::int64_t>();
      if (label < 0) continue;
      loss -= log_p[0][t][label].item<double>();
      ++counted;
    }
  }
  Replicas one(1), two(2);
  for (Replicas* replicas : {&one, &two}) {
    const Evaluation evaluation = evaluate(model, task, tasks::Split::kTest, 7, *replicas, torch::kCPU);
    EXPECT_EQ(evaluation.counted, 3 + 1 + 2 + 3 + 1 + 2 + 3);
    EXPECT_EQ(evaluation.counted, counted);
    EXPECT_NEAR(evaluation.loss, loss / static_cast<double>(counted), 1e-5);
  }
}

TEST(Evaluation, G29_without_any_target_is_not_a_number_and_training_changes_nothing) {
  const FixedTask task(4, {0});
  RunConfig config = tiny("reverse");
  RunObserver observer;
  std::vector<std::string> weights;
  config.train.checkpoint_every = 1;
  observer.on_checkpoint = [&](std::int64_t, const std::map<std::string, std::string>& files) {
    weights.push_back(files.at("model.safetensors"));
  };
  config.train.steps = 3;
  const RunResult result = run_training(config, task, observer);
  EXPECT_EQ(result.test.counted, 0);
  EXPECT_TRUE(std::isnan(result.test.loss));
  EXPECT_EQ(result.ending, Ending::kComplete);
  ASSERT_EQ(weights.size(), 3U);
  EXPECT_TRUE(weights[0] == weights[2]);
}

// Accumulating k batches of b is one batch of k b: same examples, one mean over all positions, also of
// unequal counts.
TEST(Training, Accumulation_equals_one_large_batch) {
  RunConfig whole = tiny("induction"), parts = whole;
  whole.model.dropout = parts.model.dropout = 0.0;
  whole.model.attention.attention_dropout = parts.model.attention.attention_dropout = 0.0;
  whole.train.batch = 12;
  parts.train.batch = 4;
  parts.train.accumulate = 3;
  const Trained a = train(whole), b = train(parts);
  for (std::size_t i = 0; i < a.steps.size(); ++i) {
    EXPECT_NEAR(a.steps[i].loss, b.steps[i].loss, 1e-4) << "step " << i;
    EXPECT_NEAR(a.steps[i].grad_norm, b.steps[i].grad_norm, 1e-3 * a.steps[i].grad_norm);
  }
}

// --- runs
// ------------------------------------------------------------------------------------------------------------

TEST(Training, G41_a_seed_is_a_run) {
  RunConfig config = tiny("reverse");
  const Trained a = train(config), b = train(config);
  EXPECT_TRUE(a.weights == b.weights);
  for (std::size_t i = 0; i < a.steps.size(); ++i) EXPECT_EQ(a.steps[i].loss, b.steps[i].loss);
  config.train.seed = 8;
  EXPECT_FALSE(train(config).weights == a.weights);
}

TEST(Training, G41_looking_changes_nothing) {
  RunConfig config = tiny("reverse");
  const Trained plain = train(config);
  config.train.heatmap_every = 3;
  config.train.eval_every = 2;
  const auto task = tasks::make_task(config.task, static_cast<std::uint64_t>(config.train.seed));
  std::string weights;
  int maps = 0, evaluations = 0;
  RunObserver observer;
  observer.on_attention = [&](const AttentionMaps&) { ++maps; };
  observer.on_evaluation = [&](std::int64_t, const Evaluation&, double) { ++evaluations; };
  observer.on_checkpoint = [&](std::int64_t, const std::map<std::string, std::string>& files) {
    weights = files.at("model.safetensors");
  };
  run_training(config, *task, observer);
  EXPECT_EQ(maps, 4);
  EXPECT_EQ(evaluations, 7);  // before the first step, too
  EXPECT_TRUE(weights == plain.weights);
}

// Dropout included: decisions belong to an example, not to a thread.
TEST(Training, Threads_change_rounding_only) {
  RunConfig config = tiny("reverse");
  config.model.dropout = config.model.attention.attention_dropout = 0.3;
  const Trained one = train(config);
  config.train.threads = 3;
  const Trained three = train(config);
  EXPECT_EQ(three.result.threads, 3);
  for (std::size_t i = 0; i < one.steps.size(); ++i)
    EXPECT_NEAR(one.steps[i].loss, three.steps[i].loss, 1e-4);
}

TEST(Training, Learns_to_copy_its_input) {
  RunConfig config = tiny("sort");
  config.task.n_symbols = 3;
  config.task.seq_len = 6;
  config.model.dropout = config.model.attention.attention_dropout = 0.0;
  config.train.steps = 300;
  config.train.batch = 32;
  config.train.lr = 1e-2;
  EXPECT_GT(train(config).result.test.token_accuracy, 0.95);
}

TEST(Training, G16_divergence_is_noticed) {
  RunConfig config = tiny("copy");
  config.train.lr = 1e30;
  config.train.steps = 40;
  const Trained trained = train(config);
  EXPECT_EQ(trained.result.ending, Ending::kDiverged);
  EXPECT_EQ(trained.result.non_finite_steps, 10);
  EXPECT_LT(trained.result.steps, 40);
}

TEST(Training, The_attention_path_is_said) {
  RunConfig config = tiny("reverse");
  config.train.steps = 1;
  config.train.engine = EngineChoice::kModules;
  EXPECT_EQ(train(config).result.attention_path, "explicit");  // dropout on weights
  config.model.attention.attention_dropout = 0.0;
  EXPECT_EQ(train(config).result.attention_path, "fused");
}

TEST(Training, Initial_scores_have_unit_spread) {
  RunConfig config = tiny("reverse");
  config.model.d_model = 64;
  config.train.steps = 1;
  const double sd = train(config).result.initial_score_sd;
  EXPECT_GT(sd, 0.7);  // design/metrics.md: a healthy start has 0.8 to 1.1
  EXPECT_LT(sd, 1.2);
}

TEST(Training, Refuses_cuda_where_there_is_none) {
  RunConfig config = tiny("reverse");
  config.train.device = DeviceChoice::kAuto;
  if (train(config).result.device == "cuda") GTEST_SKIP() << "this machine has a GPU";
  config.train.device = DeviceChoice::kCuda;
  EXPECT_THROW(train(config), ConfigError);
}

TEST(Memory, A_run_larger_than_the_machine_is_refused_with_the_estimate) {
  RunConfig config = tiny("reverse");
  config.task.seq_len = 4096;
  config.train.batch = 65536;
  try {
    train(config);
    FAIL() << "was not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kOutOfMemory);
    EXPECT_THAT(error.what(), HasSubstr("MiB"));
  }
}

// --- checkpoints and records
// -----------------------------------------------------------------------------------------

TEST(Checkpoint, Round_trip_is_exact_and_misfits_are_refused) {
  const models::ModelSizes sizes{10, 10, 16};
  models::MiniTransformer a(models::ModelOptions{}, sizes), b(models::ModelOptions{}, sizes);
  from_safetensors(to_safetensors(*a), "a", *b);
  for (const auto& item : a->named_parameters()) {
    EXPECT_TRUE(torch::equal(item.value(), b->named_parameters()[item.key()])) << item.key();
  }
  models::MiniTransformer wide(models::ModelOptions{.d_model = 128}, sizes);
  models::MiniTransformer deep(models::ModelOptions{.n_layers = 3}, sizes),
      flat(models::ModelOptions{.n_layers = 1}, sizes);
  const torch::Tensor before = wide->parameters()[0].detach().clone();
  EXPECT_THROW(from_safetensors(to_safetensors(*a), "a", *wide), DataError);
  EXPECT_THROW(from_safetensors(to_safetensors(*a), "a", *deep), DataError);
  EXPECT_THROW(from_safetensors(to_safetensors(*a), "a", *flat), DataError);
  EXPECT_TRUE(torch::equal(wide->parameters()[0], before));
}

TEST(Record, Weights_are_before_dropout_and_repeat) {
  RunConfig config = tiny("reverse");
  config.model.attention.attention_dropout = 0.5;
  const auto task = tasks::make_task(config.task, 1);
  const Trained trained = train(config);
  const auto inputs = default_inputs(*task, 2);
  const AttentionMaps a = record_attention(config, *task, trained.weights, inputs, 12);
  const AttentionMaps b = record_attention(config, *task, trained.weights, inputs, 12);
  ASSERT_EQ(a.layers.size(), 1U);
  EXPECT_EQ(a.layers[0].values, b.layers[0].values);
  for (std::size_t row = 0; row < a.layers[0].values.size(); row += 16) {
    double sum = 0.0;
    for (std::size_t key = row; key < row + 16; ++key) sum += a.layers[0].values[key];
    EXPECT_NEAR(sum, 1.0, 1e-6);
  }
}

TEST(Record, G12_an_input_longer_than_the_model_is_refused_with_both_numbers) {
  RunConfig config = tiny("reverse");
  const auto task = tasks::make_task(config.task, 1);
  const Trained trained = train(config);
  try {
    record_attention(config, *task, trained.weights, tasks::unlabelled({std::vector<std::int64_t>(20, 1)}),
                     12);
    FAIL() << "was not refused";
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("20"));
    EXPECT_THAT(error.what(), HasSubstr("16"));
  }
  for (const std::int64_t length : {1, 16}) {
    const auto maps = record_attention(
        config, *task, trained.weights,
        tasks::unlabelled({std::vector<std::int64_t>(static_cast<std::size_t>(length), 1)}), 12);
    EXPECT_EQ(maps.layers[0].keys, length);
  }
}

TEST(Sharpness, Of_known_rows) {
  AttentionMaps maps;
  maps.layers.push_back({1, 1, 2, 2, {0.5F, 0.5F, 0.8807971F, 0.1192029F}});  // scores (0, 0) and (2, 0)
  const Sharpness found = sharpness(maps);
  EXPECT_NEAR(found.score_sd, (0.0 + 1.0) / 2.0, 1e-6);
  EXPECT_NEAR(found.entropy_normalised, (1.0 + 0.365334 / std::log(2.0)) / 2.0, 1e-5);
}

TEST(Replicas, Every_share_is_done_and_the_first_error_comes_back) {
  Replicas replicas(3);
  for (int round = 0; round < 100; ++round) {
    std::vector<int> done(3, 0);
    replicas.run([&](std::int64_t share) { ++done[static_cast<std::size_t>(share)]; });
    EXPECT_THAT(done, ::testing::ElementsAre(1, 1, 1));
  }
  EXPECT_THROW(replicas.run([](std::int64_t share) {
    if (share == 2) throw std::runtime_error("third");
  }),
               std::runtime_error);
  replicas.run([](std::int64_t) {});
}

}  // namespace
}  // namespace headtorch::train
