#include "src/regress/lane_sums.hpp"

#include <algorithm>

#include "src/regress/lanes.hpp"

namespace headtorch::regress {

HEADTORCH_EACH_FLOAT_UNIT
double total(const double* a, std::size_t n) {
  Lanes sum = {};
  for (std::size_t i = 0; i < n; i += kLanes) {
    Lanes value;
    load(value, a + i);
    sum += value;
  }
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

HEADTORCH_EACH_FLOAT_UNIT
double dot(const double* a, const double* b, std::size_t n) {
  Lanes sum = {};
  for (std::size_t i = 0; i < n; i += kLanes) {
    Lanes value, factor;
    load(value, a + i);
    load(factor, b + i);
    sum += value * factor;
  }
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

HEADTORCH_EACH_FLOAT_UNIT
double largest(const double* a, std::size_t n) {
  Lanes most;
  load(most, a);
  for (std::size_t i = kLanes; i < n; i += kLanes) {
    Lanes value;
    load(value, a + i);
    most = value > most ? value : most;
  }
  return std::max(std::max(most[0], most[1]), std::max(most[2], most[3]));
}

HEADTORCH_EACH_FLOAT_UNIT
void scale(double* a, std::size_t n, double factor) {
  for (std::size_t i = 0; i < n; ++i) a[i] *= factor;
}

HEADTORCH_EACH_FLOAT_UNIT
void multiply(double* c, const double* a, const double* b, std::size_t n, double factor) {
  for (std::size_t i = 0; i < n; ++i) c[i] = factor * a[i] * b[i];
}

}  // namespace headtorch::regress
