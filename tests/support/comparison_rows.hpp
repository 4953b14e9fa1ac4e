#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "src/probe/verdict.hpp"

// Rows of a comparison, made up for the tests of its verdict.

namespace headtorch::probe {

using Values = std::vector<double>;

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline const ComparisonMetric kAccuracy{
    .name = "token_accuracy", .higher_is_better = true, .best_possible = 1.0, .unit = ""};
inline const ComparisonMetric kLoss{
    .name = "loss", .higher_is_better = false, .best_possible = {}, .unit = "nats a character"};

inline ComparisonRow row(RowKind kind, std::string name, std::string score, Values values) {
  ComparisonRow made;
  made.kind = kind;
  made.name = std::move(name);
  made.score = std::move(score);
  made.values = std::move(values);
  return made;
}
inline ComparisonRow no_mixing(Values values) {
  return row(RowKind::kNoMixing, "no mixing", "self", std::move(values));
}
inline ComparisonRow uniform(Values values) {
  return row(RowKind::kGeneric, "uniform", "uniform", std::move(values));
}
inline ComparisonRow local(Values values) {
  ComparisonRow made =
      row(RowKind::kGeneric, "Gaussian around the own position, h 2", "fixed-gaussian", std::move(values));
  made.bandwidth = 2.0;
  return made;
}
inline ComparisonRow shaped(Values values) {
  ComparisonRow made =
      row(RowKind::kShaped, "Gaussian at offset -3, h 0.35", "fixed-gaussian", std::move(values));
  made.bandwidth = 0.35;
  return made;
}
inline ComparisonRow learned(std::int64_t n_heads, std::int64_t n_layers, Values values) {
  ComparisonRow made = row(RowKind::kLearned, std::to_string(n_heads) + "h" + std::to_string(n_layers) + "l",
                           "dot", std::move(values));
  made.n_heads = n_heads;
  made.n_layers = n_layers;
  return made;
}

inline ComparisonRow raw_dot(Values values) {
  return row(RowKind::kLearned, "attention without query and key projections", "raw-dot", std::move(values));
}
inline ComparisonRow replaced(Values values) {
  return row(RowKind::kReplaced, "every head replaced by its nearest kernel", "dot", std::move(values));
}

inline ComparisonRow reference(std::string name, Values values) {
  return row(RowKind::kReference, std::move(name), "", std::move(values));
}

/// Four seeds around a mean.
inline Values around(double mean) { return {mean - 0.002, mean + 0.002, mean - 0.001, mean + 0.001}; }

inline std::vector<ComparisonRow> table(double none, double averaged, double generic, double shape,
                                        double one, double several) {
  return {no_mixing(around(none)), uniform(around(averaged)),  local(around(generic)),
          shaped(around(shape)),   learned(1, 1, around(one)), learned(4, 2, around(several))};
}

}  // namespace headtorch::probe
