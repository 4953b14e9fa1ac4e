#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/probe/verdict.hpp"

namespace headtorch::probe {

/// The rows of a comparison by their part in it. Points into the rows it was made from.
struct Sides {
  const ComparisonRow* no_mixing = nullptr;
  const ComparisonRow* uniform = nullptr;
  const ComparisonRow* one_head = nullptr;  ///< learned, one head in one layer; null when there is none
  std::vector<const ComparisonRow*> generic, shaped,
      learned;                              ///< generic holds uniform; learned: with queries and keys
  const ComparisonRow* largest = nullptr;   ///< of the learned ones; null when there is none
  const ComparisonRow* raw_dot = nullptr;   ///< null when there is none
  const ComparisonRow* replaced = nullptr;  ///< null when there is none
  std::vector<const ComparisonRow*> references;

  /// Generic and shaped kernels.
  std::vector<const ComparisonRow*> fixed() const;
};

/// @throws ConfigError when no mixing or uniform is missing, seeds differ in number, or there are none.
Sides sides_of(const std::vector<ComparisonRow>& rows);

/// "0.311", or "no number" for NaN.
std::string number_text(double value);
/// "0.311 (0.300 to 0.322)": mean and range.
std::string range_text(const Summary& summary);
/// "4 seeds", "1 split".
std::string seeds_text(std::size_t n, std::string_view sample = "seed");
/// "a", "a and b", "a, b and c".
std::string list_text(const std::vector<std::string>& items);

/// How much better one row is than another, paired by seed, in the metric's own units.
struct Gain {
  const ComparisonRow* row = nullptr;
  Summary summary;

  /// Above 0 beyond chance: the interval where there is one, else every seed.
  bool clear() const { return summary.low.value_or(summary.min) > 0.0; }  // false for NaN as well
};
Gain gain(const ComparisonRow& row, const ComparisonRow& reference, const ComparisonMetric& metric);
/// The row with the largest mean gain; rows that gave NaN come last. `rows` holds one at least.
Gain best_gain(const std::vector<const ComparisonRow*>& rows, const ComparisonRow& reference,
               const ComparisonMetric& metric);
/// "0.311 nats (95 % interval 0.300 to 0.322)", or with the range where there is no interval.
std::string amount(const Gain& gain, const ComparisonMetric& metric);

/// What a model whose heads were replaced by kernels says of the learned one; starts with a line break, empty
/// when there is no such row. `is_more`: the learned model is ahead of it.
std::string replaced_text(const Sides& sides, const ComparisonMetric& metric, std::string_view replaced,
                          bool is_more);

/// The outcomes of a metric whose best possible value is unknown: 6, 7 and 8.
Verdict decide_by_gain(const Sides& sides, const ComparisonMetric& metric);
Verdict decide_baseline_by_gain(const Sides& sides, const ComparisonMetric& metric);

/// "Similarity carries ...: attention is likely to gain." for the kernel that showed it.
std::string similarity_helps(const ComparisonRow& kernel, std::string_view how_well);
/// "Similarity as defined does not help: ...", after what was seen.
std::string similarity_does_not_help(std::string_view seen);

}  // namespace headtorch::probe
