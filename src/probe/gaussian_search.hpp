#pragma once

#include <functional>
#include <limits>
#include <vector>

namespace headtorch::probe {

struct GaussianPoint {
  double offset = 0.0, log_bandwidth = 0.0;
  double loss = std::numeric_limits<double>::infinity();
};

/// The loss of an offset and ln bandwidth, everything else at its best; `loss` of its argument is not read.
using GaussianLoss = std::function<double(const GaussianPoint&)>;

inline constexpr double kLeastBandwidth = 0.1;

struct RefineOptions {
  double step = 0.5;         ///< in ln bandwidth, and in bandwidths of offset (at least 0.35 positions)
  double least_step = 0.01;  ///< halved until below
  double greatest_bandwidth = 1.0;
};

/// Goes to the best neighbour while there is one, then halves the step. Equal losses do not move: a point
/// mass stays on the whole number where it began.
GaussianPoint refine(const GaussianLoss& loss, GaussianPoint start, const RefineOptions& options);

/// Newton's steps with second differences while they help: offset and bandwidth of a causal head trade off,
/// so that steps along one of them stop early.
GaussianPoint finish(const GaussianLoss& loss, GaussianPoint start, double greatest_bandwidth);

/// The best of a grid, bandwidths doubling at each offset, after refining from its two best points.
GaussianPoint coarse_search(const GaussianLoss& loss, const std::vector<double>& offsets,
                            double greatest_bandwidth);

}  // namespace headtorch::probe
