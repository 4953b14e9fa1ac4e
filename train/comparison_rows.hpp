#pragma once

#include <optional>
#include <vector>

#include "src/probe/verdict.hpp"
#include "train/settings/config.hpp"

namespace headtorch::train {

enum class BandwidthBy {
  kModel,  ///< as the model says
  kSplit,  ///< least leave-one-out error of the rows known before the test (train/row_references.hpp)
};

/// A row of a comparison still without numbers but for its steps, and the model to train for it.
struct Candidate {
  probe::ComparisonRow row;
  models::ModelOptions model;
  /// A series is read in two forms, lags and rows: all but the model, in place of the comparison's own.
  std::optional<RunConfig> form = {};
  BandwidthBy bandwidth_by = BandwidthBy::kModel;
};

/// Each position sees only itself.
Candidate no_mixing_candidate(const RunConfig& config);

/// Uniform first, then the generic and the shaped kernels, 24 at most; the model is the configured one with
/// its score replaced. Kernels that look only at the future are left out for a causal model; text has a
/// shorter list, because its trainings are long. `bandwidths` replace those of the generic kernels, unless
/// empty.
std::vector<Candidate> kernel_grid(const RunConfig& config, const tasks::TaskShape& shape,
                                   const std::vector<double>& bandwidths);

/// Uniform, and the Gaussian on the rows' features (nn::Score::kFeatureGaussian), its bandwidth chosen on
/// each split's training rows, or one for each of `bandwidths`.
std::vector<Candidate> row_kernels(const RunConfig& config, const std::vector<double>& bandwidths);

/// One head and n_heads, in one layer and in n_layers; each once.
std::vector<Candidate> learned_candidates(const RunConfig& config);

/// Attention that compares a layer's inputs as they are, without queries and keys.
Candidate raw_dot_candidate(const RunConfig& config);

/// `full` with every head replaced by its nearest kernel: nothing to train, a row alone.
probe::ComparisonRow replaced_row(const Candidate& full);

}  // namespace headtorch::train
