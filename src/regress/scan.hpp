#pragma once

#include <functional>
#include <vector>

#include "src/regress/regression.hpp"

namespace headtorch::regress {

/// Internal to this layer: every minimum of a score of one bandwidth.
struct ScanRequest {
  std::function<double(double)> score;       ///< of a bandwidth; infinity or NaN: there is none
  std::function<double(double)> slope = {};  ///< d score / d ln h, if it is known exactly
  double low = 0.0, high = 0.0;              ///< the range of bandwidths
  double step = 0.05;                        ///< between grid points, in ln h
};

/// Scores on a grid in ln h; then each minimum of the grid is made exact between its neighbours, by the root
/// of the slope or by Brent's method. Neighbours alike to 1e-12 are one plateau: a plateau that is a minimum
/// is reported at the end of the range it reaches (the upper one if both), else in its middle.
struct ScanResult {
  std::vector<Minimum> minima;    ///< the best first; empty where there is no score
  std::vector<CurvePoint> curve;  ///< the grid and the minima, ascending
};
ScanResult scan(const ScanRequest& request);

/// @throws DataError, headed by `where`, where there is no minimum.
ChosenBandwidth chosen_from(ScanResult found, const char* where);

}  // namespace headtorch::regress
