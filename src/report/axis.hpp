#pragma once

#include <string>
#include <vector>

namespace headtorch::report {

struct AxisRange {
  double low = 0, high = 1;
};

/// Logarithmic axes show positive values only.
enum class AxisScale { kLinear, kLogarithmic };

/// From the smallest to the largest value that the scale can show, with a little room; half a unit (a factor
/// of two) around where all are equal, 0 to 1 (0.1 to 1) where there is none.
AxisRange range_around(const std::vector<double>& values, AxisScale scale = AxisScale::kLinear);

struct AxisMark {
  double value = 0;
  std::string text;
};
/// Round numbers (1, 2 or 5 times a power of ten apart) within the range: the closest spacing that gives no
/// more than `most` of them, at least 2 apart; none where the range is narrower than double can tell.
std::vector<AxisMark> round_marks(const AxisRange& range, int most);

/// Of a logarithmic axis: 1, 2 and 5 times powers of ten while there are no more than `most` of them, else
/// powers of ten, evenly spaced; round numbers as above where the range holds fewer than two of those.
/// @param range above 0.
std::vector<AxisMark> logarithmic_marks(const AxisRange& range, int most);

std::vector<AxisMark> marks_of(const AxisRange& range, AxisScale scale, int most);

}  // namespace headtorch::report
