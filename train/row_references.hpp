#pragma once

#include <string>
#include <vector>

#include "src/tasks/rows.hpp"

// What a comparison on rows of a file holds its models against, without attention and without training:
// fitted on the rows that a model knows before the test (Rows::known), tested on the same test rows.

namespace headtorch::train {

/// Errors on the test rows, in original units.
struct RowErrors {
  double rmse = 0.0, mae = 0.0;
  double r2 = 0.0;  ///< 1 - SSE/SST; NaN where the test rows are all alike
};
/// @param predicted one a test row, in the order of Rows::test.
RowErrors errors_of(const tasks::Rows& rows, const std::vector<double>& predicted);

/// The bandwidth of one Gaussian over all features as models read them, least leave-one-out error on the
/// known rows, at most 1,024 of them. Infinite where the features do not matter: then 1e6.
/// @throws what regress::choose_common_bandwidth throws.
double common_bandwidth(const tasks::Rows& rows);

struct RowReference {
  std::string name;    ///< "k nearest"
  std::string choice;  ///< what the split chose: "k 3", "h 0.29", "lag 11"; empty: nothing
  RowErrors errors;
};

/// What a series adds: its features are lags 1, 2, ... of the target.
struct SeriesSteps {
  std::int64_t horizon = 1;
  std::int64_t season = 0;  ///< in steps; 0: the lag with the least error on the known rows
};

/// Of a table: mean, linear, k nearest, Nadaraya-Watson with one bandwidth and with one a column (product
/// kernel, leave-one-out).
std::vector<RowReference> table_references(const tasks::Rows& rows);
/// The same and, first, the last value and the last value a season before.
std::vector<RowReference> series_references(const tasks::Rows& rows, const SeriesSteps& steps);

}  // namespace headtorch::train
