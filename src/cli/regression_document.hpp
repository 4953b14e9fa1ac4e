#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "src/cli/regression_result.hpp"

namespace headtorch::cli {

/// result.json of `regress` (docs/regress.md).
nlohmann::ordered_json regression_document(const RegressionReport& report);

/// The same for a person: what was fitted, statistics, verdict.
std::string regression_summary(const RegressionReport& report);

/// CSV of the chosen bandwidths' curve: bandwidth, score.
std::string selection_csv(const RegressionReport& report);
/// CSV of the rows: x, y, fitted and left-out value, or the probability of each class.
std::string rows_csv(const RegressionReport& report);
/// CSV of the curve with its interval; empty without a curve.
std::string curve_csv(const RegressionReport& report);

/// What a model says at new rows: CSV of x and the value with its interval, or the classes' probabilities.
std::string predictions_csv(const RegressionModel& model, const Predictions& predictions);
nlohmann::ordered_json predictions_document(const RegressionModel& model, const Predictions& predictions);

}  // namespace headtorch::cli
