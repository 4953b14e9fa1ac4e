#include "src/regress/sample.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

#include "src/core/error.hpp"

namespace headtorch::regress {
namespace {

constexpr const char* kWhere = "sample";

void check_finite(std::span<const double> values, const char* name) {
  const auto bad = std::find_if_not(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
  if (bad != values.end())
    throw DataError(kWhere,
                    fmt::format("{}[{}] is {}, expected a finite number", name, bad - values.begin(), *bad));
}

}  // namespace

Sample::Sample(std::span<const double> x, std::span<const double> y) : order_(x.size()) {
  if (x.size() != y.size())
    throw ShapeError(kWhere, fmt::format("x has {} numbers and y {}, expected as many", x.size(), y.size()));
  if (x.empty()) throw DataError(kWhere, "no points, expected at least one");
  check_finite(x, "x");
  check_finite(y, "y");
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::sort(order_.begin(), order_.end(),
            [&](std::size_t a, std::size_t b) { return std::tie(x[a], y[a]) < std::tie(x[b], y[b]); });
  const double share = 1.0 / static_cast<double>(x.size());
  for (const std::size_t i : order_) {
    x_.push_back(x[i]);
    y_.push_back(y[i]);
    y_mean_ += y[i] * share;
  }
  for (double& value : y_) value -= y_mean_;
  if (!std::isfinite(x_.back() - x_.front()))
    throw DataError(
        kWhere, fmt::format("x from {} to {}, expected a range that a double holds", x_.front(), x_.back()));
}

void check_bandwidth(double bandwidth, const char* where) {
  if (!(std::isfinite(bandwidth) && bandwidth >= std::numeric_limits<double>::min()))
    throw ConfigError(where, fmt::format("bandwidth {}, expected a finite number > 0", bandwidth));
}

}  // namespace headtorch::regress
