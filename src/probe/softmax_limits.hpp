#pragma once

#include <string>
#include <vector>

// Softmax in numbers of few digits: exp(s_i) / sum exp(s_j) as written, and the same after the row's maximum
// is taken off, which no score can overflow.

namespace headtorch::probe {

/// A binary floating-point format (IEEE 754, round to nearest even).
struct NumberFormat {
  std::string name;
  int digits = 24;                     ///< of the significand, in bits
  int lowest_exponent = -149;          ///< of the smallest number above 0
  int highest_exponent = 127;          ///< of the largest numbers
  double rounded(double value) const;  ///< infinite where it is too large
};
/// float32, bfloat16, float16.
std::vector<NumberFormat> number_formats();

enum class Shift { kNone, kRowMaximum };
/// Every operation rounded to the format.
std::vector<double> softmax_in(const NumberFormat& format, const std::vector<double>& scores, Shift shift);

struct SoftmaxLimits {
  std::string format;
  double largest = 0.0;             ///< score whose exp is finite
  double next = 0.0;                ///< the number after it, whose exp is infinite
  double smallest = 0.0;            ///< score whose exp is above 0
  std::vector<double> scores = {};  ///< a row: next, next - 1, 0
  std::vector<double> naive = {}, safe = {};
  std::vector<double> low_scores = {};  ///< a row of scores that all underflow
  std::vector<double> low_naive = {}, low_safe = {};
};

/// Found by halving an interval of the format's numbers.
SoftmaxLimits find_softmax_limits(const NumberFormat& format);

}  // namespace headtorch::probe
