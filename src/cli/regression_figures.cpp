#include "src/cli/regression_figures.hpp"

#include <algorithm>
#include <array>

#include "src/cli/choices.hpp"
#include "src/cli/regression_document.hpp"
#include "train/settings/number.hpp"

namespace headtorch::cli {
namespace {

constexpr std::array<std::pair<std::string_view, RegressionFormat>, 4> kFormats = {
    {{"png", RegressionFormat::kPng},
     {"svg", RegressionFormat::kSvg},
     {"csv", RegressionFormat::kCsv},
     {"npy", RegressionFormat::kNpy}}};

}  // namespace

std::vector<RegressionFormat> regression_formats(std::string_view text) {
  std::vector<RegressionFormat> formats;
  for (const std::string_view name : train::split_at_commas(text)) {
    const RegressionFormat format = choose("--format", name, kFormats);
    if (std::find(formats.begin(), formats.end(), format) == formats.end()) formats.push_back(format);
  }
  return formats;
}

std::vector<std::pair<std::string, std::string>> regression_files(
    const RegressionReport& report, const std::vector<RegressionFormat>& formats) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const RegressionFormat format : formats) {
    if (format == RegressionFormat::kCsv) {
      files.emplace_back("rows.csv", rows_csv(report));
      files.emplace_back("selection.csv", selection_csv(report));
      if (report.has_curve()) files.emplace_back("curve.csv", curve_csv(report));
    }
  }
  return files;
}

}  // namespace headtorch::cli
