#pragma once

#include <span>

namespace headtorch::probe {

// Sums over one row, added up in several lanes, so that they become vector code; spans are of equal size. The
// order of adding is fixed: results do not depend on the number of threads.

/// sum_j x_j.
double sum_of(std::span<const double> x);

/// -sum_j x_j ln x_j, 0 ln 0 = 0; x_j is 0 or at least 1e-300. To 1e-15 of the sum of its terms.
double entropy_of(std::span<const double> x);

/// sum_j mass_j ln(a k0_j + b); every argument of ln at least 1e-300. To 1e-15 of the sum of its terms.
double log_sum(std::span<const double> mass, std::span<const double> k0, double a, double b);

/// sum_j mass_j r_j and sum_j mass_j r_j^2 of r_j = (u - s k0_j) / (s k0_j + eps (u - s k0_j)).
struct RatioSums {
  double first = 0.0, second = 0.0;
};
struct RatioTerms {
  double scale = 1.0, uniform = 0.0, eps = 0.0;  ///< s, u, eps
};
RatioSums ratio_sums(std::span<const double> mass, std::span<const double> k0, const RatioTerms& terms);

}  // namespace headtorch::probe
