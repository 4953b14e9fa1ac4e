#include "src/regress/local_sums.hpp"

#include "src/regress/lanes.hpp"

namespace headtorch::regress {

// The vectors end with room for the last lanes.
LocalSums::LocalSums(const SumsRequest& request)
    : s0(request.places.size() + kLanes), t0(s0.size()), least_s0(s0.size()) {
  if (request.moments == Moments::kZeroth) return;
  for (auto* sums : {&s1, &s2, &t1, &t2}) sums->resize(s0.size());
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
