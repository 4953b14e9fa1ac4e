#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "src/regress/regression.hpp"
#include "train/learned_regression.hpp"

namespace headtorch::cli {

/// Where a form's weights lie at places along the one column.
struct LocalKernels {
  train::KernelForm form = train::KernelForm::kGaussian;
  std::vector<train::LocalKernel> at;
};

/// All that `regress --learn` reports.
struct LearnReport {
  std::string file, y;
  std::vector<std::string> x;
  train::NumberRows rows;             ///< ascending in x, then y
  regress::ChosenBandwidth selected;  ///< by leave-one-out, src/regress
  train::LearnedRegression learned;
  std::vector<double> places = {};          ///< one column: where `local` stands
  std::vector<LocalKernels> local = {};     ///< one column
  std::vector<double> curve_x = {};         ///< one column
  std::vector<std::vector<double>> curves;  ///< one column: a form's values at curve_x, in the rows' order
  double seconds = 0.0;                     ///< of all fits
};

/// For people: "q and k of (1, x, x^2)".
std::string_view title_of(train::KernelForm form);

/// Is learning the kernel worth it here? Decided by held-out rows, for the learned form that the
/// leave-one-out loss would have chosen.
std::string learn_verdict(const LearnReport& report);

/// result.json of `regress --learn` (docs/learned_kernels.md).
nlohmann::ordered_json learn_document(const LearnReport& report);
/// The same for a person: bandwidths, a line a form, local bandwidths, verdict.
std::string learn_table(const LearnReport& report);
/// CSV: x, y of the data's curve places and each form's value.
std::string learned_curves_csv(const LearnReport& report);

}  // namespace headtorch::cli
