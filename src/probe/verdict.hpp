#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/probe/summary.hpp"

// What a comparison of fixed and learned kernels says, from its numbers alone (docs/compare.md).

namespace headtorch::probe {

/// Which line of a comparison a row stands on.
enum class RowKind {
  kNoMixing,
  kGeneric,
  kShaped,
  kLearned,    ///< score "raw-dot": learned without queries and keys
  kReference,  ///< what a forecaster would try first, without attention: the mean, a line, neighbours
  kReplaced,  ///< the largest learned model with every head replaced by its nearest kernel, not trained again
};

/// One model of a comparison, trained on several seeds.
struct ComparisonRow {
  std::string name = {};   ///< "Gaussian around the own position, h 1"; names the row in sentences
  std::string score = {};  ///< value of --score
  RowKind kind = RowKind::kLearned;
  std::int64_t n_heads = 1;  ///< heads with a matrix of their own: H equal fixed kernels are one head
  std::int64_t n_layers = 1, parameters = 0, steps = 0;
  std::optional<double> bandwidth = {}, kernel_slope = {}, kernel_offset = {};
  double seconds = 0.0;             ///< training, mean over seeds
  std::vector<double> values = {};  ///< the metric on held-out data, one a seed, in the same seed order in
                                    ///< all rows; NaN where a training gave none
  std::vector<double> mae = {}, r2 = {};  ///< Measure::kReal: beside the values, else empty
};

/// What the values are and where they can end.
struct ComparisonMetric {
  std::string name = {};  ///< "token_accuracy", or "loss" in nats a character
  bool higher_is_better = true;
  std::optional<double> best_possible = {};  ///< absent: unknown (outcomes 6 to 8)
  std::string unit = {};                     ///< said after a value: "nats a character"; empty for shares
  std::string sample =
      "seed";  ///< what a value belongs to: "seed"; "split" or "origin" where the data differ
};

inline constexpr double kSolvedSkill = 0.95;  ///< solved: the skill of every seed reaches this
inline constexpr double kAheadBy = 0.05;      ///< ahead: ranges of skill disjoint and means this far apart
inline constexpr double kSmallestGap =
    0.05;  ///< between no mixing and the best possible, for skill to mean something

/// Skill seed by seed, (value - c) / (best possible - c), with c the reference row's value of the same seed:
/// no mixing, or uniform for selection skill. NaN where a value is not finite or c is within kSmallestGap of
/// the best possible; empty when the best possible is unknown.
std::vector<double> skill(const ComparisonRow& row, const ComparisonRow& reference,
                          const ComparisonMetric& metric);

/// Decimal numbers at a threshold count as having reached it, whatever their rounding (1e-9).
struct Verdict {
  int outcome = 1;
  std::string verdict;  ///< plain English, one paragraph
  std::string reason;   ///< the numbers that decided it: sentences, one a line
};

/// The first that holds. 1: no verdict (no mixing is within kSmallestGap of the best, or nothing solves on
/// every seed). 2: averaging is enough (uniform solves). 3: a fixed kernel solves. 4: one learned head in one
/// layer solves. 5: a learned model with more heads or layers solves. With an unknown best value, by gain
/// over no mixing paired by seed, whose 95 % interval (below 4 seeds: range) lies above 0 - 6: nothing gains.
/// 7: a fixed kernel gains and learning is not ahead of it. 8: learning is ahead. Rows hold one kNoMixing row
/// (self only), one uniform row (score "uniform"), a learned row of one head in one layer, and others. Rows
/// of score "raw-dot" and of kinds kReplaced and kReference are spoken of in the reason and decide nothing; a
/// reference that is ahead of every model is named in the verdict.
/// @throws ConfigError when one of these is missing, seeds differ in number, or there are none.
Verdict decide(const std::vector<ComparisonRow>& rows, const ComparisonMetric& metric);

/// The same for fixed kernels alone, learned rows left out: outcomes 1 to 3, 6 and 7, and whether similarity
/// carries the task.
Verdict decide_baseline(const std::vector<ComparisonRow>& rows, const ComparisonMetric& metric);

}  // namespace headtorch::probe
