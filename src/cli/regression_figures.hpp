#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/cli/regression_result.hpp"
#include "src/report/canvas.hpp"

namespace headtorch::cli {

enum class RegressionFormat { kPng, kSvg, kCsv, kNpy };

/// Of a --format list.  @throws UsageError.
std::vector<RegressionFormat> regression_formats(std::string_view text);

/// Names and bytes.
using NamedFiles = std::vector<std::pair<std::string, std::string>>;

bool wants(const std::vector<RegressionFormat>& formats, RegressionFormat format);

/// Adds NAME.png and NAME.svg, as far as they are wanted.
void add_picture(NamedFiles& files, const std::vector<RegressionFormat>& formats, const std::string& name,
                 const std::function<std::string(report::Format)>& draw);

/// Pictures: `curve` (data, curve and band; with several columns a slice through each, the
/// others at their medians), `selection` (score against bandwidth), `weights` (of the rows at places along
/// the curve; with several columns of the rows themselves). CSV: rows, selection, and curve where there is
/// one. NPY: weights.
NamedFiles regression_files(const RegressionReport& report, const std::vector<RegressionFormat>& formats);

}  // namespace headtorch::cli
