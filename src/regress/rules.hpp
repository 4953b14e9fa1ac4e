#pragma once

#include <span>

#include "src/regress/kernel.hpp"
#include "src/regress/sample.hpp"

namespace headtorch::regress {

/// Of a column of numbers, in its units.
struct Spread {
  double sd = 0.0;             ///< with n in the denominator
  double range = 0.0;          ///< largest minus smallest
  double interquartile = 0.0;  ///< quartiles by linear interpolation, as numpy's and R's default
  double median_gap = 0.0;     ///< between neighbouring values that differ; 0 where none do
};
/// @throws DataError for none.
Spread spread_of(std::span<const double> values);

/// A bandwidth for the Gaussian times this smooths as much with another kernel: the ratio of canonical
/// bandwidths (R(K) / mu2(K)^2)^(1/5).  Source: Marron and Nolan 1988.
double canonical_factor(Kernel kernel);

/// 1.06 s n^(-1/(4+d)), s the least of sd (n-1 in the denominator) and interquartile range / 1.349, sd where
/// that range is 0; times canonical_factor.  Source: Silverman 1986; Scott 1992.
double rule_of_thumb(std::span<const double> values, std::size_t n_columns, Kernel kernel);

/// Direct plug-in bandwidth for the local line, Gaussian; times canonical_factor. Blocks of quartics chosen
/// by Mallows' Cp give pilot estimates, then a local cubic of the curvature and a local line of the noise, on
/// 401 binned places; 1 % of the points trimmed at each end.  Source: Ruppert, Sheather and Wand 1995; agrees
/// with dpill of R's KernSmooth (tests/golden/dpill.json).
/// @throws DataError for fewer than 10 points or 6 different x, or where the estimated noise or curvature is
/// 0.
double plug_in(const Sample& sample, Kernel kernel);

}  // namespace headtorch::regress
