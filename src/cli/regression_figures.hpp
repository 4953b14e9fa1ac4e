#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/cli/regression_result.hpp"

namespace headtorch::cli {

enum class RegressionFormat { kPng, kSvg, kCsv, kNpy };

/// Of a --format list.  @throws UsageError.
std::vector<RegressionFormat> regression_formats(std::string_view text);

/// Names and bytes. Pictures: `curve` (data, curve and band; with several columns a slice through each, the
/// others at their medians), `selection` (score against bandwidth), `weights` (of the rows at places along
/// the curve; with several columns of the rows themselves). CSV: rows, selection, and curve where there is
/// one. NPY: weights.
std::vector<std::pair<std::string, std::string>> regression_files(
    const RegressionReport& report, const std::vector<RegressionFormat>& formats);

}  // namespace headtorch::cli
