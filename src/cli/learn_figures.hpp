#pragma once

#include <vector>

#include "src/cli/learn_report.hpp"
#include "src/cli/regression_figures.hpp"

namespace headtorch::cli {

/// Names and bytes. Pictures: `learned`, the forms' curves over the data with their errors and, beside them,
/// local bandwidths (one column); `learned-weights`, each form's weights, rows in the order of the first
/// column. CSV: curves (one column). NPY: weights of each form.
NamedFiles learned_files(const LearnReport& report, const std::vector<RegressionFormat>& formats);

}  // namespace headtorch::cli
