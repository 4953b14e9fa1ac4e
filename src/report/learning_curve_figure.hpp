#pragma once

#include <string>
#include <vector>

#include "src/probe/learning_curve.hpp"
#include "src/report/canvas.hpp"

namespace headtorch::report {

struct LearningCurveFigure {
  std::string title, text;  ///< text: a paragraph below
  Format format = Format::kPng;
};

/// The metric against the number of training rows: no mixing, the best fixed kernel, each learned model and
/// the best plain reference at each size, with 95 % intervals (below 4 splits: ranges) as bands.
/// @param points ascending, all with the same kinds of rows.
std::string draw_learning_curve(const std::vector<probe::SizePoint>& points,
                                const probe::ComparisonMetric& metric, const LearningCurveFigure& figure);

}  // namespace headtorch::report
