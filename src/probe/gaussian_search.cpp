#include "src/probe/gaussian_search.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace headtorch::probe {
namespace {

constexpr double kFirstBandwidth = 0.3;
constexpr double kLeastReach = 0.35;
constexpr int kMostRounds = 200;
constexpr double kGain = 1e-12;  // below this a smaller loss is rounding

}  // namespace

GaussianPoint refine(const GaussianLoss& loss, GaussianPoint start, const RefineOptions& options) {
  GaussianPoint best = start;
  best.loss = loss(best);
  const double low = std::log(kLeastBandwidth), high = std::log(options.greatest_bandwidth);
  double step = options.step;
  for (int round = 0; round < kMostRounds && step >= options.least_step; ++round) {
    const double reach = step * std::max(kLeastReach, std::exp(best.log_bandwidth));
    const std::array<GaussianPoint, 4> neighbours{{{best.offset - reach, best.log_bandwidth},
                                                   {best.offset + reach, best.log_bandwidth},
                                                   {best.offset, std::max(low, best.log_bandwidth - step)},
                                                   {best.offset, std::min(high, best.log_bandwidth + step)}}};
    GaussianPoint next = best;
    for (GaussianPoint point : neighbours) {
      point.loss = loss(point);
      if (point.loss < next.loss) next = point;
    }
    if (next.loss < best.loss - kGain) {
      best = next;
    } else {
      step /= 2;
    }
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
  std::stable_sort(grid.begin(), grid.end(),
                   [](const GaussianPoint& a, const GaussianPoint& b) { return a.loss < b.loss; });
  GaussianPoint best;
  for (std::size_t i = 0; i < std::min<std::size_t>(2, grid.size()); ++i) {
    const GaussianPoint found =
        refine(loss, grid[i], {.step = 0.4, .least_step = 0.05, .greatest_bandwidth = greatest_bandwidth});
    if (found.loss < best.loss) best = found;
  }
  return best;
}

}  // namespace headtorch::probe
