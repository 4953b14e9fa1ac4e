#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/table/table.hpp"
#include "src/tasks/rows.hpp"

namespace headtorch::tasks {

/// How the columns of a table become features: a number or date (in days) is one, a column of words is one of
/// 0 or 1 for each of its words.
struct TableForm {
  struct Input {
    std::string column;
    table::ColumnKind kind = table::ColumnKind::kNumber;
    std::vector<std::string> words = {};  ///< of kWord
  };
  std::vector<Input> inputs;

  std::vector<std::string> names() const;
  /// Appends the features of one row.  @throws DataError naming line and column of a word that is not among
  /// those known; of a column of another kind.
  void append(const table::Table& table, std::size_t row, std::vector<double>& x) const;
};

struct TableRows {
  Rows rows;
  TableForm form;
};

/// Every column but the target and those in `leave_out` predicts the target. The seed decides which rows are
/// for the test (a fifth) and for validation (a tenth of the others).
/// @throws as read_table and find_column; ConfigError when file or target are not set or no column is left
/// to predict from; DataError for a target of words, a column of texts (more than 20 different words, and
/// more than half as many as rows), a missing value under Missing::kRefuse, too few rows.
TableRows table_rows(const TaskOptions& options, std::uint64_t seed);

}  // namespace headtorch::tasks
