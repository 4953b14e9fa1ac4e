#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "src/tasks/rows.hpp"
#include "train/comparison.hpp"
#include "train/comparison_rows.hpp"

// What a comparison trains and holds beside it when the task is rows of a file.

namespace headtorch::train {

/// Whether a task reads rows of a CSV: table, series.
bool is_of_rows(std::string_view task);

/// The forms in which a comparison reads its task, the configured one first: of a series both, lags and rows;
/// of all else one. The other form has the model and batch of its own preset, and all else as configured.
std::vector<RunConfig> forms_of(const RunConfig& config);

/// The rows of one split.
tasks::Rows rows_of(const tasks::TaskOptions& task, std::uint64_t seed);

/// What is trained whatever is chosen, no mixing and uniform first, the largest learned model last. In the
/// form of rows: no mixing, uniform, the Gaussian on the features and what is learned. A series has what is
/// learned over lags too.
std::vector<Candidate> row_candidates(const RunConfig& config, const ComparisonOptions& options);

/// Kernels over the lags of a series, of which the best are chosen on validation data; none for a table.
std::vector<Candidate> lag_kernels(const RunConfig& config, const tasks::TaskShape& shape,
                                   const std::vector<double>& bandwidths);

/// The plain references on the splits of the reported seeds.
std::vector<probe::ComparisonRow> reference_rows(const RunConfig& config, const ComparisonOptions& options);

}  // namespace headtorch::train
