#include "src/probe/learning_curve.hpp"

#include <fmt/format.h>

#include <functional>
#include <optional>

#include "src/core/error.hpp"
#include "src/probe/sides.hpp"

namespace headtorch::probe {
namespace {

/// The best learned row over the best fixed one.
Gain lead_at(const SizePoint& point, const ComparisonMetric& metric) {
  const Sides sides = sides_of(point.rows);
  if (sides.learned.empty()) throw ConfigError("verdict", "no learned row, expected one");
  const ComparisonRow& learned = *best_gain(sides.learned, *sides.no_mixing, metric).row;
  const ComparisonRow& kernel = *best_gain(sides.fixed(), *sides.no_mixing, metric).row;
  return gain(learned, kernel, metric);
}

/// The least n from which on `holds` at every point.
std::optional<std::int64_t> from_where(const std::vector<SizePoint>& points, const ComparisonMetric& metric,
                                       const std::function<bool(const Gain&)>& holds) {
  std::optional<std::int64_t> from;
  for (auto point = points.rbegin(); point != points.rend(); ++point) {
    if (!holds(lead_at(*point, metric))) break;
    from = point->n;
  }
  return from;
}

}  // namespace

std::string overtaking(const std::vector<SizePoint>& points, const ComparisonMetric& metric) {
  if (points.empty()) throw ConfigError("verdict", "no sizes, expected one at least");
  const auto clearly = from_where(points, metric, [](const Gain& lead) { return lead.clear(); });
  if (clearly) return fmt::format("Learning overtakes the fixed kernel from {} rows on.", *clearly);
  std::string text =
      fmt::format("Learning does not clearly overtake the fixed kernel up to {} rows", points.back().n);
  const auto in_mean = from_where(points, metric, [](const Gain& lead) { return lead.summary.mean > 0.0; });
  return text + (in_mean ? fmt::format("; its mean is the better one from {} rows on.", *in_mean) : ".");
}

}  // namespace headtorch::probe
