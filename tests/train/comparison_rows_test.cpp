#include "train/comparison_rows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace headtorch::train {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

std::vector<Candidate> grid_of(const RunConfig& config, const std::vector<double>& bandwidths = {}) {
  const tasks::TaskShape shape = tasks::make_task(config.task, 1)->shape();
  return kernel_grid(config, shape, bandwidths);
}

std::vector<std::string> names(const std::vector<Candidate>& candidates) {
  std::vector<std::string> all;
  for (const Candidate& candidate : candidates) all.push_back(candidate.row.name);
  return all;
}

RunConfig config_with_heads(std::string_view task, std::int64_t n_heads) {
  RunConfig config = default_config(task);
  config.model.n_heads = n_heads;
  return config;
}

TEST(ComparisonRows, GridHasAtMost24KernelsWithDifferentNamesAndLegalModels) {
  for (const char* task : {"reverse", "copy", "sort", "histogram", "induction"}) {
    for (const std::int64_t n_heads : {1, 2, 4, 8}) {
      for (const std::vector<double>& bandwidths :
           {std::vector<double>{}, {0.7}, {0.5, 3.0}, {0.5, 1.0, 2.0}}) {
        RunConfig config = config_with_heads(task, n_heads);
        const std::vector<Candidate> grid = grid_of(config, bandwidths);
        EXPECT_LE(grid.size(), 24U);
        EXPECT_EQ(grid.front().row.score, "uniform");
        const std::vector<std::string> all = names(grid);
        EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), grid.size());
        for (const Candidate& candidate : grid) {
          config.model = candidate.model;
          EXPECT_NO_THROW(check(config)) << candidate.row.name;
        }
      }
    }
  }
}

TEST(ComparisonRows, HoldsTheKernelsThatSolveReverseAndCopy) {
  const auto all = names(grid_of(default_config("reverse")));
  EXPECT_THAT(all, Contains("Gaussian at the mirrored position, h 0.35"));
  EXPECT_THAT(all, Contains("Gaussian at offset -3, h 0.35"));
  EXPECT_THAT(all, Contains("Gaussian around the own position, h 2"));
  EXPECT_THAT(all, Contains("Gaussians, one a head, at offsets -1, -2, h 0.35"));
  for (const Candidate& candidate : grid_of(default_config("reverse"))) {
    const bool mirrored = candidate.row.kernel_slope == -1.0;
    EXPECT_TRUE(!mirrored || candidate.row.kernel_offset == 15.0) << candidate.row.name;  // T - 1
  }
}

TEST(ComparisonRows, CausalGridNeverLooksOnlyAhead) {
  for (const Candidate& candidate : grid_of(default_config("induction"))) {
    EXPECT_NE(candidate.row.kernel_slope, -1.0) << candidate.row.name;
    if (candidate.row.kernel_slope == 1.0 && candidate.row.kernel_offset) {
      EXPECT_LE(candidate.row.kernel_offset, 0.0) << candidate.row.name;
    }
  }
}

TEST(ComparisonRows, OnlyTheScoreDiffersFromTheConfiguredModel) {
  RunConfig config = config_with_heads("reverse", 4);
  config.model.attention.bandwidth = {1.0, 2.0, 3.0, 4.0};
  config.model.attention.scale = {nn::ScaleKind::kLearned, 0.0};
  config.model.attention.score_dropout = 0.25;
  std::vector<Candidate> fixed = grid_of(config);
  fixed.push_back(no_mixing_candidate(config));
  fixed.push_back(raw_dot_candidate(config));
  for (const Candidate& candidate : fixed) {
    RunConfig changed = config;
    changed.model = candidate.model;
    EXPECT_EQ(candidate.row.n_layers, config.model.n_layers);
    nn::ScoreOptions& attention = changed.model.attention;
    attention.score = config.model.attention.score;
    attention.scale = config.model.attention.scale;  // of what is learned
    attention.bandwidth = config.model.attention.bandwidth;
    attention.kernel_slope = config.model.attention.kernel_slope;
    attention.kernel_offset = config.model.attention.kernel_offset;
    EXPECT_EQ(to_toml(changed), to_toml(config)) << candidate.row.name;
  }
}

TEST(ComparisonRows, EqualKernelsInAllHeadsCountAsOneHead) {
  for (const Candidate& candidate : grid_of(config_with_heads("reverse", 4))) {
    const bool one_a_head = candidate.model.attention.kernel_offset.size() == 4;
    EXPECT_EQ(candidate.row.n_heads, one_a_head ? 4 : 1) << candidate.row.name;
    EXPECT_EQ(candidate.row.kernel_offset.has_value() && one_a_head, false);
  }
}

TEST(ComparisonRows, BandwidthsByHandReplaceTheGenericOnes) {
  for (const Candidate& candidate : grid_of(default_config("reverse"), {0.7})) {
    if (candidate.row.kind == probe::RowKind::kGeneric && candidate.row.bandwidth) {
      EXPECT_EQ(candidate.row.bandwidth, 0.7) << candidate.row.name;
    }
  }
}

TEST(ComparisonRows, KernelsOfARunAreLeftOut) {
  RunConfig config = default_config("reverse");
  config.model.head_kernels = {{.layer = 0, .head = 1, .kernel = {}}};
  for (const Candidate& candidate : learned_candidates(config))
    EXPECT_TRUE(candidate.model.head_kernels.empty());
}

TEST(ComparisonRows, ScoresAreNamedAsTheFlagNamesThem) {
  RunConfig config = default_config("reverse");
  std::vector<Candidate> all = grid_of(config);
  all.push_back(no_mixing_candidate(config));
  all.push_back(raw_dot_candidate(config));
  for (const Candidate& candidate : all) {
    set_flag("score", candidate.row.score, config);
    EXPECT_EQ(config.model.attention.score, candidate.model.attention.score);
  }
}

TEST(ComparisonRows, LearnedRowsAppearOnce) {
  RunConfig config = config_with_heads("reverse", 4);
  config.model.attention.score = nn::Score::kFixedGaussian;
  config.model.attention.bandwidth = {1.0, 2.0, 3.0, 4.0};
  EXPECT_THAT(names(learned_candidates(config)),
              ElementsAre("one learned head in one layer", "one learned head in each of 2 layers",
                          "4 learned heads in one layer", "4 learned heads in each of 2 layers"));
  for (const Candidate& candidate : learned_candidates(config)) {
    config.model = candidate.model;
    EXPECT_NO_THROW(check(config)) << candidate.row.name;
    EXPECT_EQ(candidate.model.attention.score, nn::Score::kDot);
  }
  config.model.n_heads = config.model.n_layers = 1;
  EXPECT_THAT(names(learned_candidates(config)), ElementsAre("one learned head in one layer"));
  config.model.n_layers = 3;
  EXPECT_THAT(names(learned_candidates(config)),
              ElementsAre("one learned head in one layer", "one learned head in each of 3 layers"));
}

}  // namespace
}  // namespace headtorch::train
