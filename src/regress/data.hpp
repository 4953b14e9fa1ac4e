#pragma once

#include <cstddef>
#include <vector>

#include "src/regress/regression.hpp"

// Internal to this layer: rows and columns of regression.hpp.

namespace headtorch::regress {

std::size_t rows_of(const Variable& column);
/// A number, or a code as one.
double value_at(const Variable& column, std::size_t row);
bool varies(const Variable& column);

/// The largest bandwidth of a category: (c-1)/c.
double widest_of_category(std::int64_t n_categories);

/// @throws DataError or ShapeError, headed by `where`, unless all have the same n >= 1 rows, of finite
/// numbers or of codes in range.
void check_columns(const std::vector<Variable>& columns, const char* where);
/// The same of x and y together, and at least one x.
void check_data(const RegressionData& data, const char* where);
/// @throws ShapeError unless `places` has the columns of `x`, of the same kinds; DataError for a number that
/// is not finite. Codes may be new. None at all is allowed.
void check_places(const std::vector<Variable>& x, const std::vector<Variable>& places, const char* where);

/// One column of numbers for an outcome of numbers: what sums in O(n) are for.
bool is_plain(const RegressionData& data);

}  // namespace headtorch::regress
