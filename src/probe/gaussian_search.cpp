#include "src/probe/gaussian_search.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace headtorch::probe {
namespace {

constexpr double kFirstBandwidth = 0.3;
constexpr double kLeastReach = 0.35;
constexpr int kMostRounds = 200;
constexpr int kNewtonRounds = 12;
constexpr double kDifference = 0.02, kLeastDifference = 1e-3;
constexpr double kLeastShare = 0.1;  // of Newton's step
constexpr double kLongestStep = 0.5;
constexpr double kGain = 1e-13;  // below this a smaller loss is rounding

/// Of two that differ by rounding only, neither: the first found then stays.
bool better(const GaussianPoint& a, const GaussianPoint& b) { return a.loss < b.loss - kGain; }

/// Steps in bandwidths of offset, at least kLeastReach positions, and in ln bandwidth.
GaussianPoint moved(const GaussianPoint& from, double across, double along) {
  return {.offset = from.offset + across * std::max(kLeastReach, std::exp(from.log_bandwidth)),
          .log_bandwidth = from.log_bandwidth + along};
}

/// Newton's step from second differences, at most kLongestStep each way; none where the loss has no minimum.
std::optional<std::pair<double, double>> newton_step(const GaussianLoss& loss, const GaussianPoint& from,
                                                     double d) {
  const auto at = [&](double across, double along) { return loss(moved(from, across, along)); };
  const double left = at(-d, 0), right = at(d, 0), narrow = at(0, -d), wide = at(0, d);
  const double gx = (right - left) / (2 * d), gy = (wide - narrow) / (2 * d);
  const double xx = (right - 2 * from.loss + left) / (d * d);
  const double yy = (wide - 2 * from.loss + narrow) / (d * d);
  const double xy = (at(d, d) + at(-d, -d) - right - left - wide - narrow + 2 * from.loss) / (2 * d * d);
  const double determinant = xx * yy - xy * xy;
  if (!(xx > 0.0 && determinant > 0.0)) return {};
  return std::pair(std::clamp((xy * gy - yy * gx) / determinant, -kLongestStep, kLongestStep),
                   std::clamp((xy * gx - xx * gy) / determinant, -kLongestStep, kLongestStep));
}

}  // namespace

GaussianPoint refine(const GaussianLoss& loss, GaussianPoint start, const RefineOptions& options) {
  GaussianPoint best = start;
  best.loss = loss(best);
  const double low = std::log(kLeastBandwidth), high = std::log(options.greatest_bandwidth);
  double step = options.step;
  for (int round = 0; round < kMostRounds && step >= options.least_step; ++round) {
    GaussianPoint next = best;
    for (const auto& [across, along] : {std::pair(-step, 0.0), {step, 0.0}, {0.0, -step}, {0.0, step}}) {
      GaussianPoint point = moved(best, across, along);
      point.log_bandwidth = std::clamp(point.log_bandwidth, low, high);
      point.loss = loss(point);
      if (better(point, next)) next = point;
    }
    if (better(next, best)) {
      best = next;
    } else {
      step /= 2;
    }
  }
  return best;
}

GaussianPoint finish(const GaussianLoss& loss, GaussianPoint start, double greatest_bandwidth) {
  GaussianPoint best = start;
  best.loss = loss(best);
  const double low = std::log(kLeastBandwidth), high = std::log(greatest_bandwidth);
  double difference = kDifference;
  for (int round = 0; round < kNewtonRounds && difference >= kLeastDifference; ++round) {
    const auto step = newton_step(loss, best, difference);
    GaussianPoint next = best;
    for (double share = 1.0; step && share >= kLeastShare && next.loss == best.loss; share /= 2) {
      GaussianPoint point = moved(best, share * step->first, share * step->second);
      point.log_bandwidth = std::clamp(point.log_bandwidth, low, high);
      point.loss = loss(point);
      if (better(point, best)) next = point;
    }
    if (next.loss == best.loss) difference /= 4;
    best = next;
  }
  return best;
}

GaussianPoint coarse_search(const GaussianLoss& loss, const std::vector<double>& offsets,
                            double greatest_bandwidth) {
  std::vector<GaussianPoint> grid;
  for (const double offset : offsets) {
    for (double bandwidth = kFirstBandwidth; bandwidth < greatest_bandwidth; bandwidth *= 2) {
      GaussianPoint point{.offset = offset, .log_bandwidth = std::log(bandwidth)};
      point.loss = loss(point);
      grid.push_back(point);
    }
  }
  GaussianPoint best;
  for (int start = 0; start < 2 && !grid.empty(); ++start) {
    auto least = grid.begin();
    for (auto point = grid.begin(); point != grid.end(); ++point) {
      if (better(*point, *least)) least = point;
    }
    const GaussianPoint found =
        refine(loss, *least, {.step = 0.4, .least_step = 0.05, .greatest_bandwidth = greatest_bandwidth});
    if (better(found, best)) best = found;
    grid.erase(least);
  }
  return best;
}

}  // namespace headtorch::probe
