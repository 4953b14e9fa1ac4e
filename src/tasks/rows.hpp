#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/tasks/task.hpp"

namespace headtorch::tasks {

/// Takes a number to mean 0 and standard deviation 1, in double before anything is rounded to float.
struct Scaling {
  double mean = 0.0, sd = 0.0;  ///< population's; sd 0: a constant, which becomes 0

  float scaled(double value) const { return sd > 0.0 ? static_cast<float>((value - mean) / sd) : 0.0F; }
  double original(double scaled) const { return mean + sd * scaled; }
};

/// What a file gives to learn from: rows of features x and a value y, in original units, and which of them
/// are for what. Scalings are those of the training rows.
struct Rows {
  std::string file, target;
  std::vector<std::string> features;  ///< names: "age", "weather = rain", "lag 1"
  std::vector<double> x;              ///< [rows, features]
  std::vector<double> y;
  std::vector<std::int64_t> lines;  ///< of the file: where y stands
  std::vector<std::size_t> train, validation, test;
  std::vector<std::size_t> known;  ///< before the test rows are asked: train, for series with validation
  std::vector<Scaling> x_scaling;
  Scaling y_scaling;

  std::span<const double> x_of(std::size_t row) const {
    return std::span(x).subspan(row * features.size(), features.size());
  }
  const std::vector<std::size_t>& of(Split split) const;
};

/// Sets the scalings from the training rows.  @throws DataError when y is constant there.
void scale(Rows& rows);

inline constexpr std::int64_t kFewestRows = 20;
/// @throws DataError, headed by the file, for fewer than kFewestRows; `from`: what the rows are made of.
void check_enough(const Rows& rows, std::string_view from);

/// Test rows among n: a fifth. Validation rows: a tenth of the others.
std::size_t n_test(std::size_t n);
std::size_t n_validation(std::size_t n);

/// Rows known before the test: all `n_known` of them, or as many as asked.  @throws ConfigError for more than
/// there are, or so few that nothing can be learned from them (10).
std::size_t n_used(std::int64_t asked, std::size_t n_known);

/// The names between commas, without the blanks around them.
std::vector<std::string> listed(std::string_view names);

}  // namespace headtorch::tasks
