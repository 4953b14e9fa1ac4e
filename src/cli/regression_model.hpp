#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/cli/regression_data.hpp"
#include "src/regress/kernel.hpp"

namespace headtorch::cli {

inline constexpr std::string_view kKernelNames[] = {"gaussian", "exponential", "epanechnikov", "box"};
inline constexpr std::string_view kMethodNames[] = {"constant", "linear"};

/// A regression that can be applied to new rows: all it takes are its data, kernel and bandwidth.
struct RegressionModel {
  std::vector<RegressionColumn> x;
  RegressionColumn y;
  regress::RegressionData data;
  regress::Smoother smoother;
  std::vector<double> bandwidth;  ///< one a column

  bool predicts_classes() const { return data.y.n_categories > 0; }
};

inline constexpr const char* kRegressionFile = "regression.json";

/// {format: "headtorch-regression-1", method, kernel, x: [{name, kind, categories, bandwidth, values}], y:
/// {name, kind, categories, values}}; values of words are places in `categories`.
std::string regression_file(const RegressionModel& model);
/// @throws DataError naming `file` and what is wrong with it.
RegressionModel read_regression_file(std::string_view bytes, std::string_view file);

}  // namespace headtorch::cli
