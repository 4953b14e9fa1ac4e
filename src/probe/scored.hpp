#pragma once

#include <string>
#include <vector>

#include "src/probe/sides.hpp"

namespace headtorch::probe {

/// value >= threshold, with room for the rounding of decimal numbers.
bool reaches(double value, double threshold);

/// A row with its skill over no mixing.
struct Scored {
  const ComparisonRow* row = nullptr;
  std::vector<double> skills;
  Summary summary;
  std::size_t n_solved = 0;  ///< seeds

  bool solves() const { return n_solved == skills.size(); }
};

Scored score(const ComparisonRow& row, const ComparisonRow& reference, const ComparisonMetric& metric);

/// Ranges disjoint and means kAheadBy apart; false when one has a NaN.
bool ahead(const Scored& a, const Scored& b);

/// Solving rows come before others, then the mean decides; a row with a NaN comes last.
bool better(const Scored& a, const Scored& b);
/// The best of `rows`, which holds one at least; the first of equals.
const Scored& best(const std::vector<Scored>& rows);

/// All rows of a comparison, scored.
struct Scores {
  Scored uniform;
  std::vector<Scored> generic, shaped, learned;

  /// Generic and shaped kernels.
  std::vector<Scored> fixed() const;
};
Scores score_all(const Sides& sides, const ComparisonMetric& metric);

/// "3 of 4 seeds".
std::string solved_text(const Scored& scored);
/// "uniform (skill 0.999)".
std::string with_skill(const Scored& scored);
/// "uniform, skill 0.999 (0.998 to 1.000)".
std::string with_range(const Scored& scored);

}  // namespace headtorch::probe
