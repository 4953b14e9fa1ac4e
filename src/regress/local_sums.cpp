#include "src/regress/local_sums.hpp"

#include <numbers>

#include "src/regress/lanes.hpp"

namespace headtorch::regress {

// The vectors end with room for the last lanes.
LocalSums::LocalSums(const SumsRequest& request)
    : s0(request.places.size() + kLanes), t0(s0.size()), least_s0(s0.size()) {
  if (request.moments == Moments::kZeroth) return;
  for (auto* sums : {&s1, &s2, &t1, &t2}) sums->resize(s0.size());
}

LocalSums local_sums(const SumsRequest& request, Kernel kernel) {
  switch (kernel) {
    case Kernel::kGaussian:
      return gaussian_sums(request);
    case Kernel::kExponential:
      return exponential_sums(request);
    default:
      return window_sums(request, kernel);
  }
}

LocalSums squared_sums(const SumsRequest& request, Kernel kernel) {
  if (kernel == Kernel::kBox) return window_sums(request, kernel);
  if (kernel == Kernel::kEpanechnikov) return squared_epanechnikov_sums(request);
  const double narrower = kernel == Kernel::kGaussian ? std::numbers::sqrt2 : 2.0;
  SumsRequest squared = request;
  squared.bandwidth /= narrower;
  LocalSums sums = local_sums(squared, kernel);
  for (double& sum : sums.s1) sum /= narrower;
  for (double& sum : sums.s2) sum /= narrower * narrower;
  return sums;
}

std::vector<Block> make_blocks(std::span<const double> x, double width) {
  std::vector<Block> blocks;
  for (std::size_t first = 0, stop = 0; first < x.size(); first = stop) {
    while (stop < x.size() && x[stop] - x[first] <= width) ++stop;
    blocks.push_back({first, stop, x[first] + (x[stop - 1] - x[first]) / 2});
  }
  return blocks;
}

}  // namespace headtorch::regress
