#include "src/cli/regression_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>

#include "src/cli/choices.hpp"
#include "src/cli/regression_document.hpp"
#include "src/report/arrays.hpp"
#include "src/report/regression_figure.hpp"
#include "src/report/text.hpp"
#include "train/settings/number.hpp"

namespace headtorch::cli {
namespace {

constexpr std::array<std::pair<std::string_view, RegressionFormat>, 4> kFormats = {
    {{"png", RegressionFormat::kPng},
     {"svg", RegressionFormat::kSvg},
     {"csv", RegressionFormat::kCsv},
     {"npy", RegressionFormat::kNpy}}};

constexpr std::size_t kSlicePlaces = 200, kWeightPlaces = 200, kWeightColumns = 500;

/// Numbers as they are, categories by their place: what an axis shows.
std::vector<double> axis_values(const regress::Variable& variable) {
  return variable.n_categories > 0 ? std::vector<double>(variable.codes.begin(), variable.codes.end())
                                   : variable.numbers;
}

/// The middle value, or the most frequent category, `n` times.
regress::Variable held_still(const regress::Variable& variable, std::size_t n) {
  if (variable.n_categories > 0) {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(variable.n_categories), 0);
    for (const std::int64_t code : variable.codes) ++counts[static_cast<std::size_t>(code)];
    const auto most = std::max_element(counts.begin(), counts.end()) - counts.begin();
    return {.codes = std::vector<std::int64_t>(n, most), .n_categories = variable.n_categories};
  }
  std::vector<double> sorted = variable.numbers;
  const auto middle = sorted.begin() + std::ssize(sorted) / 2;
  std::nth_element(sorted.begin(), middle, sorted.end());
  return {.numbers = std::vector<double>(n, *middle)};
}

/// Every category once, or places from the least to the largest number.
regress::Variable along(const regress::Variable& variable) {
  regress::Variable places{.n_categories = variable.n_categories};
  if (variable.n_categories > 0) {
    places.codes.resize(static_cast<std::size_t>(variable.n_categories));
    std::iota(places.codes.begin(), places.codes.end(), std::int64_t{0});
    return places;
  }
  const auto [low, high] = std::minmax_element(variable.numbers.begin(), variable.numbers.end());
  for (std::size_t i = 0; i < kSlicePlaces; ++i)
    places.numbers.push_back(std::lerp(*low, *high, static_cast<double>(i) / (kSlicePlaces - 1)));
  return places;
}

/// Curves over `x`: one with its interval, or one a class.
std::vector<report::FitCurve> curves_of(const RegressionModel& model, const std::vector<double>& x,
                                        std::span<const regress::Estimate> estimates,
                                        std::span<const double> probabilities) {
  std::vector<report::FitCurve> curves;
  if (!model.predicts_classes()) {
    report::FitCurve& curve = curves.emplace_back();
    curve.label = "fit, 95 % interval of its mean";
    curve.x = x;
    for (const regress::Estimate& estimate : estimates) {
      curve.y.push_back(estimate.value);
      curve.low.push_back(estimate.low);
      curve.high.push_back(estimate.high);
    }
    return curves;
  }
  const std::size_t width = model.y.categories.size();
  for (std::size_t c = 0; c < width; ++c) {
    report::FitCurve& curve = curves.emplace_back();
    curve.label = model.y.categories[c];
    curve.x = x;
    for (std::size_t i = 0; i < x.size(); ++i) curve.y.push_back(probabilities[i * width + c]);
  }
  return curves;
}

report::FitSlice slice_through(const RegressionReport& report, std::size_t column) {
  const RegressionModel& model = report.model;
  report::FitSlice slice{.x_title = model.x[column].name,
                         .x = axis_values(model.data.x[column]),
                         .categories = model.x[column].categories};
  if (report.has_curve()) {
    slice.curves = curves_of(model, report.curve_x, report.curve, report.curve_probabilities);
    return slice;
  }
  Places places;
  const regress::Variable moving = along(model.data.x[column]);
  const std::vector<double> x = axis_values(moving);
  for (std::size_t i = 0; i < model.x.size(); ++i)
    places.x.push_back(i == column ? moving : held_still(model.data.x[i], x.size()));
  const Predictions predictions = predict_at(model, std::move(places));
  slice.curves = curves_of(model, x, predictions.estimates, predictions.probabilities);
  return slice;
}

std::string bandwidths_text(const RegressionReport& report) {
  std::string text;
  for (std::size_t i = 0; i < report.model.x.size(); ++i)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ",
                        report.model.x.size() == 1 ? "h" : report.model.x[i].name,
                        report::readable(report.model.bandwidth[i]));
  return text;
}

std::string title_of(const RegressionReport& report) {
  return fmt::format("{}: {} from {}", report.file, report.model.y.name,
                     report.model.x.size() == 1 ? report.model.x.front().name
                                                : report::counted(std::ssize(report.model.x), "column"));
}

report::RegressionFigure curves_figure(const RegressionReport& report) {
  report::RegressionFigure figure{
      .title = title_of(report),
      .subtitle = fmt::format("{}; {}; bandwidth by {}", report::counted(report.rows(), "row"),
                              bandwidths_text(report), report.choice),
      .y_title = report.model.y.name,
      .y = axis_values(report.model.data.y),
      .classes = report.model.y.categories,
      .text = regression_verdict(report)};
  for (std::size_t i = 0; i < report.model.x.size(); ++i) figure.slices.push_back(slice_through(report, i));
  return figure;
}

report::SelectionFigure scores_figure(const RegressionReport& report) {
  const bool is_one = report.model.x.size() == 1;
  report::SelectionFigure figure{
      .title = title_of(report),
      .subtitle = bandwidths_text(report),
      .score_title = report.classes ? "leave-one-out -ln p" : "leave-one-out squared error"};
  if (report.choice.find("AICc") != std::string::npos) figure.score_title = "AICc";
  figure.bandwidth_title = is_one ? "bandwidth h" : "factor on the chosen bandwidths";
  for (const regress::CurvePoint& point : report.chosen.curve) {
    figure.bandwidth.push_back(point.bandwidth);
    figure.score.push_back(point.score);
  }
  figure.chosen = report::ScoreMinimum{is_one ? report.model.bandwidth.front() : 1.0, report.chosen.score};
  for (std::size_t i = 1; is_one && i < report.chosen.minima.size(); ++i) {
    if (report.chosen.minima[i].is_at_edge) continue;
    figure.others.push_back({report.chosen.minima[i].bandwidth.front(), report.chosen.minima[i].score});
  }
  return figure;
}

struct Weights {
  std::vector<double> places, x;  ///< along the first column
  std::vector<double> values;     ///< [places, x]
};

/// Rows of the data from the first in order of the first column to the last, evenly spaced.
std::vector<std::size_t> some_rows(const std::vector<double>& x, std::size_t most) {
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return x[a] < x[b]; });
  if (order.size() <= most) return order;
  std::vector<std::size_t> some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(order[i * (order.size() - 1) / (most - 1)]);
  return some;
}

regress::Variable rows_of(const regress::Variable& variable, const std::vector<std::size_t>& rows) {
  regress::Variable chosen{.n_categories = variable.n_categories};
  for (const std::size_t row : rows) {
    if (variable.n_categories > 0) {
      chosen.codes.push_back(variable.codes[row]);
    } else {
      chosen.numbers.push_back(variable.numbers[row]);
    }
  }
  return chosen;
}

/// Above kWeightColumns rows neighbours share a column, so that every row of weights still sums to 1.
Weights weights_of(const RegressionReport& report) {
  const RegressionModel& model = report.model;
  const std::vector<double> x = axis_values(model.data.x.front());
  std::vector<regress::Variable> places;
  if (report.has_curve()) {
    places = {along(model.data.x.front())};
  } else {
    const std::vector<std::size_t> rows = some_rows(x, kWeightPlaces);
    for (const regress::Variable& column : model.data.x) places.push_back(rows_of(column, rows));
  }
  Weights weights{.places = axis_values(places.front()), .x = {}, .values = {}};
  const std::vector<std::size_t> order = some_rows(x, x.size());
  const std::size_t n = x.size(), group = (n + kWeightColumns - 1) / kWeightColumns,
                    columns = (n + group - 1) / group;
  for (std::size_t c = 0; c < columns; ++c)
    weights.x.push_back(x[order[std::min(c * group + group / 2, n - 1)]]);
  weights.values.assign(weights.places.size() * columns, 0.0);
  for (std::size_t i = 0; i < weights.places.size(); ++i) {
    std::vector<regress::Variable> place;
    for (const regress::Variable& column : places) place.push_back(rows_of(column, {i}));
    const std::vector<double> of_place =
        regress::kernel_weights(model.data, model.smoother.kernel, model.bandwidth, place);
    for (std::size_t j = 0; j < n; ++j) weights.values[i * columns + j / group] += of_place[order[j]];
  }
  return weights;
}

report::WeightsFigure weights_figure(const RegressionReport& report, const Weights& weights) {
  const RegressionColumn& first = report.model.x.front();
  return {.title = title_of(report) + ": weights",
          .subtitle = report.has_curve()
                          ? bandwidths_text(report)
                          : fmt::format("{}; rows in the order of {}", bandwidths_text(report), first.name),
          .x_title = first.name,
          .places = weights.places,
          .x = weights.x,
          .weights = weights.values};
}

}  // namespace

std::vector<RegressionFormat> regression_formats(std::string_view text) {
  std::vector<RegressionFormat> formats;
  for (const std::string_view name : train::split_at_commas(text)) {
    const RegressionFormat format = choose("--format", name, kFormats);
    if (std::find(formats.begin(), formats.end(), format) == formats.end()) formats.push_back(format);
  }
  return formats;
}

bool wants(const std::vector<RegressionFormat>& formats, RegressionFormat format) {
  return std::find(formats.begin(), formats.end(), format) != formats.end();
}

void add_picture(NamedFiles& files, const std::vector<RegressionFormat>& formats, const std::string& name,
                 const std::function<std::string(report::Format)>& draw) {
  if (wants(formats, RegressionFormat::kPng)) files.emplace_back(name + ".png", draw(report::Format::kPng));
  if (wants(formats, RegressionFormat::kSvg)) files.emplace_back(name + ".svg", draw(report::Format::kSvg));
}

NamedFiles regression_files(const RegressionReport& report, const std::vector<RegressionFormat>& formats) {
  NamedFiles files;
  const bool has_scores = !report.chosen.curve.empty();
  if (wants(formats, RegressionFormat::kCsv)) {
    files.emplace_back("rows.csv", rows_csv(report));
    if (has_scores) files.emplace_back("selection.csv", selection_csv(report));
    if (report.has_curve()) files.emplace_back("curve.csv", curve_csv(report));
  }
  const bool draws = wants(formats, RegressionFormat::kPng) || wants(formats, RegressionFormat::kSvg);
  if (!draws && !wants(formats, RegressionFormat::kNpy)) return files;
  const Weights weights = weights_of(report);
  if (wants(formats, RegressionFormat::kNpy)) {
    const std::vector<float> values(weights.values.begin(), weights.values.end());
    const std::int64_t shape[] = {std::ssize(weights.places), std::ssize(weights.x)};
    files.emplace_back("weights.npy", report::npy(values, shape));
  }
  if (!draws) return files;
  const report::RegressionFigure curves = curves_figure(report);
  add_picture(files, formats, "curve",
              [&](report::Format format) { return draw_regression(curves, format); });
  if (report.chosen.curve.size() > 1) {
    const report::SelectionFigure scores = scores_figure(report);
    add_picture(files, formats, "selection",
                [&](report::Format format) { return draw_selection(scores, format); });
  }
  const report::WeightsFigure map = weights_figure(report, weights);
  add_picture(files, formats, "weights", [&](report::Format format) { return draw_weights(map, format); });
  return files;
}

}  // namespace headtorch::cli
