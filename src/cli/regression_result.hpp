#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/cli/regression_data.hpp"
#include "src/cli/regression_model.hpp"
#include "src/probe/summary.hpp"

namespace headtorch::cli {

/// How much less a kernel regression errs than a plain answer, left-out row by left-out row: the mean
/// difference of squared errors (of classes: of -ln p), above 0 where the kernel is better.
struct GainOver {
  std::string name;     ///< "the mean", "a straight line"
  double error = 0.0;   ///< of the plain answer by leave-one-out: RMSE, or log loss
  probe::Summary gain;  ///< with its 95 % interval over rows
};

/// All that `regress` reports.
struct RegressionReport {
  std::string file, choice;  ///< as given
  RegressionModel model;
  regress::ChosenBandwidth chosen;
  std::optional<regress::RegressionStatistics> numbers;  ///< y is a number
  std::optional<regress::ClassStatistics> classes;       ///< y is a class
  std::vector<GainOver> gains;
  std::vector<std::int64_t> lines;
  std::int64_t dropped = 0;
  double seconds = 0.0;                          ///< of choosing the bandwidth
  std::vector<double> curve_x = {};              ///< one column of numbers: where `curve` stands
  std::vector<regress::Estimate> curve = {};     ///< y is a number
  std::vector<double> curve_probabilities = {};  ///< y is a class: [places, classes]

  std::int64_t rows() const { return std::ssize(lines); }
  bool has_curve() const { return model.x.size() == 1 && model.data.x.front().n_categories == 0; }
};

RegressionReport report_regression(const RegressionTable& table, const regress::Smoother& smoother,
                                   const regress::BandwidthRequest& request);

/// What a model says at new places.
struct Predictions {
  Places places;
  std::vector<regress::Estimate> estimates = {};  ///< y is a number
  std::vector<double> probabilities = {};         ///< y is a class: [places, classes]
};
Predictions predict_at(const RegressionModel& model, Places places);

/// Does similarity help, and where does the bandwidth stand: sentences.
std::string regression_verdict(const RegressionReport& report);

}  // namespace headtorch::cli
