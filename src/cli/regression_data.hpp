#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/regress/regression.hpp"
#include "src/table/table.hpp"

namespace headtorch::cli {

/// What a column of a regression is called and holds.
struct RegressionColumn {
  std::string name;
  table::ColumnKind kind = table::ColumnKind::kNumber;
  std::vector<std::string> categories = {};  ///< kWord
};

/// Columns of a file that a regression uses, row by row.
struct RegressionTable {
  std::vector<RegressionColumn> x;
  RegressionColumn y;
  regress::RegressionData data;
  std::vector<std::int64_t> lines;  ///< of the file, by row
  std::int64_t dropped = 0;         ///< rows left out because something was missing
};

struct RegressionRequest {
  std::vector<std::string> x;
  std::string y;
  std::vector<std::string> categories;  ///< columns of numbers that are to be read as words
  table::Missing missing = table::Missing::kRefuse;
};

/// @throws UsageError or ConfigError for a column that is not there, stands twice or is of words that do not
/// repeat; DataError for missing cells.
RegressionTable regression_table(const table::Table& table, const RegressionRequest& request);

/// Rows of another file at which a regression is to be evaluated.
struct Places {
  std::vector<regress::Variable> x;  ///< one a column
  std::vector<std::int64_t> lines;
  std::int64_t dropped = 0;
};
/// @throws DataError for a category that was not there when the regression was made; as above.
Places places_in(const table::Table& table, const std::vector<RegressionColumn>& columns,
                 table::Missing missing);

/// A cell as it is written in a file: the number, the date, the word.
std::string cell_text(const RegressionColumn& column, const regress::Variable& values, std::size_t row);

}  // namespace headtorch::cli
