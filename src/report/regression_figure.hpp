#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/report/panels.hpp"

// Figures of kernel regression: fits over data, the score against the bandwidth, weights. The parts can stand
// on other pages too. Text from outside is made visible and cut where it would not fit.

namespace headtorch::report {

struct FitCurve {
  std::string label = {};
  std::vector<double> x = {}, y = {};
  std::vector<double> low = {}, high = {};  ///< an interval around it, or none
};

/// One predictor, the others held still.
struct FitSlice {
  std::string x_title = {};
  std::vector<double> x = {};  ///< of the data
  std::vector<FitCurve> curves = {};
  std::vector<std::string> categories = {};  ///< x are places in it; empty: numbers
};

struct RegressionFigure {
  std::string title = {}, subtitle = {}, y_title = {};
  std::vector<double> y = {};  ///< of the data
  std::vector<FitSlice> slices = {};
  std::vector<std::string> classes =
      {};  ///< y are places in it, curves the classes' probabilities in this order
  std::string text = {};
};
/// Data and curves, in the colours of the curves' order; of classes the data stand below 0 in their colours.
/// Of more than 2,000 points evenly spaced ones are drawn.
Plot fit_plot(const RegressionFigure& figure, const FitSlice& slice);
/// Up to three slices beside each other.
std::string draw_regression(const RegressionFigure& figure, Format format);

struct ScoreMinimum {
  double bandwidth = 0, score = 0;
};
struct SelectionFigure {
  std::string title = {}, subtitle = {}, bandwidth_title = "bandwidth h", score_title = {};
  std::vector<double> bandwidth = {}, score = {};  ///< ascending; NaN where there is none
  std::optional<ScoreMinimum> chosen = {};
  std::vector<ScoreMinimum> others = {};  ///< other local minima
  std::string text = {};
};
/// The axis of the score ends where the valley can still be seen: above the score of the widest bandwidth and
/// of every minimum; higher scores leave the picture, and the title of the x axis says so.
Plot selection_plot(const SelectionFigure& figure);
std::string draw_selection(const SelectionFigure& figure, Format format);

struct WeightsFigure {
  std::string title = {}, subtitle = {}, x_title = "x";
  std::vector<double> places = {};   ///< a row each, from the top
  std::vector<double> x = {};        ///< of the points; columns are put in its order
  std::vector<double> weights = {};  ///< [places, points], rows sum to 1
  std::string text = {};
};
/// Colours end where nine in ten rows do, so that a few places beyond the data do not make the rest dark.
Matrix weights_matrix(const WeightsFigure& figure);
std::string draw_weights(const WeightsFigure& figure, Format format);

}  // namespace headtorch::report
