#pragma once

#include <string>
#include <vector>

#include "src/table/table.hpp"
#include "src/tasks/rows.hpp"

namespace headtorch::tasks {

/// How far a series looks back and ahead: features y[t-1] .. y[t-lags], value y[t+horizon-1].
struct SeriesForm {
  std::int64_t lags = 12, horizon = 1;
};

struct SeriesRows {
  Rows rows;
  SeriesForm form;
};

/// The column as a series, one value a line in the order of time. A row of lags with a missing value in it is
/// left out under Missing::kDrop. Split by time: the last fifth of the rows is the test, a tenth of the
/// others before it validation; between two parts horizon - 1 rows are left out, whose values were not known
/// when the first row after them is asked. All features and y share one scaling, from the training values.
/// With n_origins the last fifth is so many blocks, and the test is block `origin`, what comes after it
/// unused. With n_train the latest rows before the test are known, no others.
/// @throws as read_table and find_column; ConfigError when file or column are not set; DataError for a column
/// that holds no numbers, a date column that does not ascend, a missing value under Missing::kRefuse, too few
/// values.
SeriesRows series_rows(const TaskOptions& options);

/// The lags that end before value `t`, newest first.
std::vector<double> lags_before(const std::vector<double>& values, std::size_t t, std::int64_t lags);

/// The column of a series in a table.  @throws as series_rows.
const table::Column& series_column(const table::Table& table, const TaskOptions& options);

}  // namespace headtorch::tasks
