#include "train/comparison_match.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "src/core/error.hpp"
#include "train/run.hpp"

namespace headtorch::train {
namespace {

tasks::TaskShape shape_of(const RunConfig& config) { return tasks::make_task(config.task, 1)->shape(); }

std::vector<Candidate> all_candidates(const RunConfig& config) {
  std::vector<Candidate> all = kernel_grid(config, shape_of(config), {});
  all.push_back(no_mixing_candidate(config));
  all.push_back(raw_dot_candidate(config));
  for (const Candidate& learned : learned_candidates(config)) all.push_back(learned);
  return all;
}

/// A task whose splits hold next to nothing: a training of one step is quick.
class Small : public tasks::Task {
 public:
  explicit Small(const RunConfig& config) : task_(tasks::make_task(config.task, 1)) {}
  const tasks::TaskShape& shape() const override { return task_->shape(); }
  tasks::Batch batch(tasks::Split split, std::int64_t first, std::int64_t count) const override {
    return task_->batch(split, first, count);
  }
  std::int64_t size(tasks::Split) const override { return 1; }
  std::string token_text(std::int64_t token) const override { return task_->token_text(token); }
  std::vector<std::int64_t> parse_tokens(std::string_view input) const override {
    return task_->parse_tokens(input);
  }

 private:
  std::unique_ptr<tasks::Task> task_;
};

/// Counted by a training.
std::int64_t parameters(RunConfig config, const models::ModelOptions& model) {
  config.model = model;
  config.train.steps = config.train.batch = config.train.threads = 1;
  return run_training(config, Small(config), {}).parameters;
}

TEST(ComparisonMatch, LayerParametersAreThoseOfTheModel) {
  for (const nn::ScaleKind scale : {nn::ScaleKind::kSqrt, nn::ScaleKind::kLearned}) {
    for (const std::int64_t d_ff : {0, 1, 100}) {
      RunConfig config = default_config("reverse");
      config.model.attention.scale.kind = scale;
      config.model.d_ff = d_ff;
      const std::vector<Candidate> all = all_candidates(config);
      const std::int64_t rest = parameters(config, all[0].model) - layer_parameters(all[0].model);
      for (const Candidate& candidate : all) {
        EXPECT_EQ(parameters(config, candidate.model) - layer_parameters(candidate.model), rest)
            << candidate.row.name;
      }
    }
  }
}

TEST(ComparisonMatch, OperationsOfAHandfulOfModels) {
  models::ModelOptions model;
  model.n_layers = 2;
  model.d_model = 64;
  model.d_ff = 256;
  tasks::TaskShape shape;
  shape.seq_len = 16;
  shape.n_classes = 10;
  // A layer: four 64 x 64 products, 16 scores and 16 sums over 64 features, 64 to 256 and back. Then 64
  // to 10.
  EXPECT_EQ(operations_a_token(model, shape), 2 * (4 * 4096 + 2 * 1024 + 32768) + 640);
  model.attention.score = nn::Score::kRawDot;
  EXPECT_EQ(operations_a_token(model, shape), 2 * (2 * 4096 + 2 * 1024 + 32768) + 640);
  model.attention.score = nn::Score::kUniform;
  EXPECT_EQ(operations_a_token(model, shape), 2 * (2 * 4096 + 1024 + 32768) + 640);
}

TEST(ComparisonMatch, ParametersComeWithinHalfAFeatureOfTheFullModel) {
  for (const char* task : {"reverse", "induction"}) {
    const RunConfig config = default_config(task);
    const tasks::TaskShape shape = shape_of(config);
    const Candidate full = learned_candidates(config).back();
    const std::int64_t wanted = parameters(config, full.model);
    for (Candidate candidate : all_candidates(config)) {
      match_to(candidate, full, Match::kParameters, shape);
      const std::int64_t feature = candidate.model.n_layers * (2 * candidate.model.d_model + 1);
      EXPECT_LE(2 * std::abs(parameters(config, candidate.model) - wanted), feature) << candidate.row.name;
      EXPECT_EQ(candidate.row.steps, config.train.steps);
    }
  }
}

TEST(ComparisonMatch, OperationsComeWithinAStepOfTheFullModel) {
  const RunConfig config = default_config("reverse");
  const tasks::TaskShape shape = shape_of(config);
  const Candidate full = learned_candidates(config).back();
  const double wanted = operations_a_token(full.model, shape) * static_cast<double>(config.train.steps);
  for (Candidate candidate : all_candidates(config)) {
    const models::ModelOptions before = candidate.model;
    match_to(candidate, full, Match::kOperations, shape);
    const double step = operations_a_token(candidate.model, shape);
    EXPECT_LE(std::abs(step * static_cast<double>(candidate.row.steps) - wanted), step / 2)
        << candidate.row.name;
    EXPECT_EQ(candidate.model.d_ff, before.d_ff);
  }
}

TEST(ComparisonMatch, EqualStepsChangeNothing) {
  const RunConfig config = default_config("sort");
  const Candidate full = learned_candidates(config).back();
  Candidate candidate = no_mixing_candidate(config);
  match_to(candidate, full, Match::kSteps, shape_of(config));
  EXPECT_EQ(candidate.model.d_ff, config.model.d_ff);
  EXPECT_EQ(candidate.row.steps, config.train.steps);
}

TEST(ComparisonMatch, WithoutAFeedForwardParametersCannotBeMatched) {
  RunConfig config = default_config("reverse");
  config.model.d_ff = 0;
  const Candidate full = learned_candidates(config).back();
  Candidate candidate = no_mixing_candidate(config);
  EXPECT_THROW(match_to(candidate, full, Match::kParameters, shape_of(config)), ConfigError);
}

}  // namespace
}  // namespace headtorch::train
