#pragma once

#include <cstddef>

namespace headtorch::regress {

// Internal to this layer: sums over whole lanes (src/regress/lanes.hpp), n a multiple of kLanes. Four running
// sums: the order is fixed, whatever the machine.

double total(const double* a, std::size_t n);
double dot(const double* a, const double* b, std::size_t n);
double largest(const double* a, std::size_t n);
/// a[i] *= factor
void scale(double* a, std::size_t n, double factor);
/// c[i] = factor a[i] b[i]
void multiply(double* c, const double* a, const double* b, std::size_t n, double factor);

}  // namespace headtorch::regress
