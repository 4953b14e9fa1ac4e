#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// What a grid of scale and learning rate says, from its numbers alone (docs/scale.md).

namespace headtorch::probe {

/// One training of the grid.
struct ScaleTraining {
  double first_loss = 0.0;  ///< of step 1, before any update
  double last_loss = 0.0;   ///< mean over the last tenth of the steps; NaN when one was not finite
  double test_loss = 0.0;   ///< on held-out data
  double initial_score_sd = 0.0;
  double entropy_normalised = 0.0, saturated = 0.0;  ///< at the end (src/probe/saturation.hpp)
  double seconds = 0.0;
};

struct ScaleGridRow {
  std::string scale;                                  ///< "none", "sqrt" or "learned"
  std::vector<std::vector<ScaleTraining>> trainings;  ///< [rate][seed], the same seeds everywhere
};

struct ScaleGrid {
  std::vector<double> rates;  ///< ascending
  std::vector<ScaleGridRow> rows;
};

inline constexpr double kAboveStart = 1.05;  ///< times the first loss
/// A loss is not finite, or the test loss is more than kAboveStart times the first loss.
bool diverged(const ScaleTraining& training);

/// Rates where a scale works best.
struct BestRate {
  std::string scale;
  std::vector<double> by_seed = {};  ///< rate with the lowest test loss among trainings that did not diverge
  double mean = 0.0;                 ///< geometric, over seeds
  double low = 0.0, high = 0.0;      ///< 95 % interval of it from 4 seeds on, else the range
  bool at_edge = false;              ///< the best rate of some seed is the first or the last of the grid
  std::optional<double> largest = {};         ///< rate at which every seed still learns
  std::optional<double> diverges_from = {};   ///< the smallest rate at which a seed diverges
  std::optional<double> saturates_from = {};  ///< the smallest rate that ends with most rows saturated
};

enum class Answer { kConfirmed, kOpen, kNotConfirmed };

struct ScaleVerdict {
  std::vector<BestRate> best;  ///< one a row; without values where a scale learns nothing
  double ratio = 0.0, ratio_low = 0.0, ratio_high = 0.0;  ///< best rate of sqrt over that of none, by seed
  std::optional<double> largest_ratio;                    ///< of the largest rates at which every seed learns
  Answer rate = Answer::kOpen, tenfold = Answer::kOpen, outcome = Answer::kOpen;
  std::string verdict;  ///< plain English, one paragraph
  std::string reason;   ///< the numbers: sentences, one a line
};

inline constexpr double kAdvisedLow = 1e-4, kAdvisedHigh = 3e-4;  ///< rates, for scale sqrt
inline constexpr double kTenfoldLow = 3.0, kTenfoldHigh = 30.0;   ///< "about ten times"

/// The advice: rates of 1e-4 to 3e-4 with scale sqrt, about ten times less without a scale. A part of it is
/// confirmed when the low..high of what it speaks of lies within its bounds, not confirmed when it lies
/// outside, else open. Tenfold: the ratio of best rates, or that of the largest rates at which every seed
/// learns. The whole is confirmed when both parts are, not confirmed when one is not. A training learns when
/// it did not diverge and its loss fell by half of the largest fall in the grid for its seed, and by at least
/// a tenth. Open where sqrt or none learns nothing.
/// @throws ConfigError without rows sqrt and none, without seeds, or where sizes differ.
ScaleVerdict judge_scale(const ScaleGrid& grid);

/// "confirmed", "open", "not confirmed".
std::string answer_name(Answer answer);

}  // namespace headtorch::probe
