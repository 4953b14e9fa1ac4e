#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/cli/output.hpp"
#include "src/cli/regression_data.hpp"
#include "src/cli/regression_figures.hpp"
#include "src/core/error.hpp"

namespace headtorch::cli {

/// `regress FILE --learn`: the same rows by kernels that are learned (docs/learned_kernels.md).
struct LearnRequest {
  std::string file;  ///< its name
  RegressionTable table;
  std::int64_t seeds = 4;
  std::vector<RegressionFormat> formats;
  std::string out;  ///< empty: runs/regress-NNN
  Output output = Output::kText;
};

/// @throws ConfigError for columns of words and for too many rows; DataError for too few.
ExitCode run_regress_learn(const LearnRequest& request);

}  // namespace headtorch::cli
