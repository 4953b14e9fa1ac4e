#pragma once

#include <string>
#include <vector>

#include "src/cli/regression_figures.hpp"
#include "src/core/error.hpp"

namespace headtorch::cli {

struct RegressDemoFlags {
  std::string out;  ///< new folder; empty: runs/regress-demo-NNN
  std::vector<RegressionFormat> formats = {RegressionFormat::kPng, RegressionFormat::kSvg};
  bool json = false;
};

/// `regress --demo`: kernel regression on 80 points of a noisy sine, in four pictures with their numbers:
/// three bandwidths, bandwidth as temperature, ways to choose it, from distance to dot product
/// (docs/regress.md). Writes three_bandwidths, temperature, choices, dot_product and result.json.
ExitCode run_regress_demo(const RegressDemoFlags& flags);

}  // namespace headtorch::cli
