#include "src/cli/regression_result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <utility>

#include "src/regress/references.hpp"
#include "src/report/text.hpp"

namespace headtorch::cli {
namespace {

constexpr std::size_t kCurvePlaces = 500;

/// Mean of `reference` minus `own`, row by row.
probe::Summary paired(const std::vector<double>& reference, const std::vector<double>& own) {
  std::vector<double> differences(own.size());
  std::transform(reference.begin(), reference.end(), own.begin(), differences.begin(), std::minus<>());
  return probe::summarise(differences);
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

GainOver gain_over_mean(const std::vector<double>& y, const std::vector<double>& squares) {
  const double centre = mean(y), n = static_cast<double>(y.size());
  std::vector<double> of_mean;
  for (const double value : y) of_mean.push_back(std::pow((value - centre) * n / (n - 1), 2));
  return {"the mean", std::sqrt(mean(of_mean)), paired(of_mean, squares)};
}

void add_number_report(RegressionReport& report) {
  const RegressionModel& model = report.model;
  report.numbers = regress::regression_statistics(model.data, model.smoother, model.bandwidth);
  const std::vector<double>& y = model.data.y.numbers;
  std::vector<double> squares(y.size());
  for (std::size_t i = 0; i < y.size(); ++i) squares[i] = std::pow(y[i] - report.numbers->left_out[i], 2);
  report.gains.push_back(gain_over_mean(y, squares));
  const std::vector<double> line = regress::least_squares_left_out(model.data);
  std::vector<double> of_line(y.size());
  for (std::size_t i = 0; i < y.size(); ++i) of_line[i] = std::pow(y[i] - line[i], 2);
  report.gains.push_back({"least squares", std::sqrt(mean(of_line)), paired(of_line, squares)});
}

void add_class_report(RegressionReport& report) {
  const RegressionModel& model = report.model;
  report.classes = regress::class_statistics(model.data, model.smoother.kernel, model.bandwidth);
  const std::vector<std::int64_t>& y = model.data.y.codes;
  const auto classes = static_cast<std::size_t>(model.data.y.n_categories);
  std::vector<double> counts(classes, 0.0), of_shares, own;
  for (const std::int64_t code : y) counts[static_cast<std::size_t>(code)] += 1.0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const auto code = static_cast<std::size_t>(y[i]);
    const double share = (counts[code] - 1.0) / (static_cast<double>(y.size()) - 1.0);
    of_shares.push_back(-std::log(std::max(share, regress::kLeastProbability)));
    own.push_back(
        -std::log(std::max(report.classes->left_out[i * classes + code], regress::kLeastProbability)));
  }
  report.gains.push_back({"the classes' shares", mean(of_shares), paired(of_shares, own)});
}

void add_curve(RegressionReport& report) {
  const RegressionModel& model = report.model;
  const std::vector<double>& x = model.data.x.front().numbers;
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  for (std::size_t i = 0; i < kCurvePlaces; ++i)
    report.curve_x.push_back(std::lerp(*low, *high, static_cast<double>(i) / (kCurvePlaces - 1)));
  const std::vector<regress::Variable> places = {{.numbers = report.curve_x}};
  if (model.predicts_classes()) {
    report.curve_probabilities =
        regress::class_probabilities(model.data, model.smoother.kernel, model.bandwidth, places);
  } else {
    report.curve = regress::estimate(model.data, model.smoother, model.bandwidth, places);
  }
}

std::string interval_text(const probe::Summary& summary) {
  return fmt::format("{} (95 % interval {} to {})", report::readable(summary.mean, 3),
                     report::readable(summary.low.value_or(summary.min), 3),
                     report::readable(summary.high.value_or(summary.max), 3));
}

/// What it means that a bandwidth ends where the search does.
std::string edge_sentence(const RegressionReport& report) {
  std::string text;
  for (const std::size_t i : report.chosen.edges) {
    const regress::Variable& column = report.model.data.x[i];
    const double h = report.model.bandwidth[i];
    bool is_narrow = h <= 0.0;  // of categories
    if (column.n_categories == 0) {
      const auto [low, high] = std::minmax_element(column.numbers.begin(), column.numbers.end());
      is_narrow = h < *high - *low;
    }
    const std::string& name = report.model.x[i].name;
    text += fmt::format(" The bandwidth of {}, {}, is the {} that was searched: ", name, report::readable(h),
                        is_narrow ? "narrowest" : "widest");
    text += is_narrow ? fmt::format("nearly only rows with the same {} count.", name)
                      : fmt::format("{} plays no part.", name);
  }
  return text;
}

}  // namespace

RegressionReport report_regression(const RegressionTable& table, const regress::Smoother& smoother,
                                   const regress::BandwidthRequest& request) {
  RegressionReport report;
  report.model = {table.x, table.y, table.data, smoother, {}};
  report.lines = table.lines;
  report.dropped = table.dropped;
  const auto start = std::chrono::steady_clock::now();
  report.chosen = regress::choose_bandwidth(table.data, smoother, request);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  report.model.bandwidth = report.chosen.bandwidth;
  if (report.model.predicts_classes()) {
    add_class_report(report);
  } else {
    add_number_report(report);
  }
  if (report.has_curve()) add_curve(report);
  return report;
}

Predictions predict_at(const RegressionModel& model, Places places) {
  Predictions predictions{.places = std::move(places)};
  const std::vector<regress::Variable>& x = predictions.places.x;
  if (model.predicts_classes()) {
    predictions.probabilities =
        regress::class_probabilities(model.data, model.smoother.kernel, model.bandwidth, x);
  } else {
    predictions.estimates = regress::estimate(model.data, model.smoother, model.bandwidth, x);
  }
  return predictions;
}

std::string regression_verdict(const RegressionReport& report) {
  const char* what = report.classes ? "-ln p" : "squared error";
  const auto clear = [](const GainOver& gain) { return gain.gain.low.value_or(gain.gain.min) > 0.0; };
  const GainOver& plain = report.gains.front();
  std::string text =
      clear(plain)
          ? fmt::format(
                "Averaging by similarity helps here: by leave-one-out its mean {} is below that of {} by {}.",
                what, plain.name, interval_text(plain.gain))
          : fmt::format(
                "Averaging by similarity does not clearly help here: by leave-one-out its mean {} is below "
                "that "
                "of {} by {}.",
                what, plain.name, interval_text(plain.gain));
  for (std::size_t i = 1; i < report.gains.size(); ++i) {
    const GainOver& other = report.gains[i];
    const bool behind = other.gain.high.value_or(other.gain.max) < 0.0;
    text += fmt::format(" Against {} it is {}: {}.", other.name,
                        clear(other) ? "better"
                        : behind     ? "worse"
                                     : "neither better nor worse beyond chance",
                        interval_text(other.gain));
  }
  return text + edge_sentence(report);
}

}  // namespace headtorch::cli
