#include "src/regress/kernel_regression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "src/core/error.hpp"
#include "src/regress/smooth.hpp"

namespace headtorch::regress {

std::vector<double> kernel_regression(const Sample& sample, const Smoother& smoother, double bandwidth,
                                      std::span<const double> places) {
  constexpr const char* kWhere = "kernel regression";
  check_bandwidth(bandwidth, kWhere);
  for (const double place : places) {
    if (!std::isfinite(place))
      throw DataError(kWhere, fmt::format("place {}, expected a finite number", place));
  }
  std::vector<std::size_t> order(places.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return places[a] < places[b]; });
  std::vector<double> sorted;
  for (const std::size_t i : order) sorted.push_back(places[i]);
  const std::vector<double> fitted =
      smooth({.sample = &sample, .bandwidth = bandwidth, .places = sorted, .own = Own::kCounted}, smoother);
  std::vector<double> values(places.size());
  for (std::size_t i = 0; i < order.size(); ++i) values[order[i]] = fitted[i] + sample.y_mean();
  return values;
}

}  // namespace headtorch::regress
