#pragma once

#include <cstdint>
#include <span>
#include <vector>

// Why scores are divided by sqrt(d): what a softmax over q . k is like for q and k of d independent standard
// normal entries. Vaswani et al. 2017, arXiv:1706.03762, 3.2.1 and footnote 4.

namespace headtorch::probe {

/// A mean and its standard error.
struct Estimate {
  double mean = 0.0, se = 0.0;
};
Estimate estimate(std::span<const double> values);

/// Of one row of weights p = softmax(scores).
struct RowSharpness {
  double entropy = 0.0;  ///< nats
  double max_weight = 0.0;
  double jacobian_norm =
      0.0;  ///< Frobenius norm of dp/dscores = diag(p) - p p^T: what a gradient is multiplied by
  double jacobian_trace = 0.0;  ///< 1 - sum p_i^2
};
RowSharpness row_sharpness(std::span<const double> scores);

/// The same over many rows.
struct Sharpness {
  Estimate entropy, max_weight, jacobian_norm, jacobian_trace;
  Estimate jacobian_median;  ///< its error from order statistics sqrt(samples) / 2 ranks away
  Estimate saturated;        ///< share of rows whose largest weight is above kSaturated
};
inline constexpr double kSaturated = 0.99;

struct ScalePoint {
  std::int64_t d = 0, n = 0;   ///< features, keys
  Estimate score_sd;           ///< of q . k; exactly sqrt(d)
  Sharpness unscaled, scaled;  ///< softmax(q . k) and softmax(q . k / sqrt(d))
};

struct ScaleStudyOptions {
  std::vector<std::int64_t> widths = {16, 32, 64, 128, 256, 512};
  std::vector<std::int64_t> keys = {16, 64};  ///< the fewer are the first of the more: the same draws
  std::int64_t samples = 2000;                ///< rows for each width
  std::uint64_t seed = 1;
};

/// One point for each number of keys and width, widths ascending within. The same whatever the number of
/// threads.  @throws ConfigError for samples below 2.
std::vector<ScalePoint> study_scale(const ScaleStudyOptions& options);

}  // namespace headtorch::probe
