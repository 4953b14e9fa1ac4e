#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headtorch::probe {

/// Which line of a comparison a row stands on.
enum class RowKind { kNoMixing, kGeneric, kShaped, kLearned };

/// One model of a comparison, trained on several seeds.
struct ComparisonRow {
  std::string name;   ///< "Gaussian around the own position, h 1"
  std::string score;  ///< value of --score
  RowKind kind = RowKind::kLearned;
  std::int64_t n_heads = 1, n_layers = 1, parameters = 0;
  std::optional<double> bandwidth, kernel_slope, kernel_offset;
  double seconds = 0.0;        ///< training, mean over seeds
  std::vector<double> values;  ///< the metric on held-out data, one a seed, in the same seed order in all rows
};

/// What the values are and where they can end.
struct ComparisonMetric {
  std::string name;                      ///< "token_accuracy", or "loss" in nats a character
  bool higher_is_better = true;
  std::optional<double> best_possible;   ///< absent: unknown (outcomes 6 to 8)
};

/// mean, range, and the 95 % interval of the mean (Student's t) from 4 seeds on.
struct Summary {
  double mean = 0.0, min = 0.0, max = 0.0;
  std::optional<double> low, high;
};
Summary summarise(const std::vector<double>& values);

/// Outcome 1..8 of design `metrics.md` ("Verdict of compare"), in words, and the numbers that decided it.
struct Verdict {
  int outcome = 1;
  std::string verdict, reason;
};
/// Rows hold one kNoMixing row (self only), one uniform row (score "uniform"), and others.
/// @throws ConfigError when a row is missing or seeds differ in number.
Verdict decide(const std::vector<ComparisonRow>& rows, const ComparisonMetric& metric);

}  // namespace headtorch::probe
