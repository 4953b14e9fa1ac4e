#include "src/probe/similarity.hpp"

#include <algorithm>

#include "src/probe/sums.hpp"

namespace headtorch::probe {

HeadPairs::HeadPairs(std::int64_t heads) {
  for (std::int64_t a = 0; a < heads; ++a) {
    for (std::int64_t b = a + 1; b < heads; ++b) heads_.emplace_back(a, b);
  }
  ratios_.resize(heads_.size());
}

void HeadPairs::add(std::size_t pair, const RecordedInput& input, std::int64_t keys, const Rows& a,
                    const Rows& b) {
  Tally tally;
  std::vector<double> p, q;
  for (std::int64_t query = 0; query < input.rows; ++query) {
    const auto at = static_cast<std::size_t>(query);
    if (read_row(a.weights, keys, query, input.sight, p) == 0 ||
        read_row(b.weights, keys, query, input.sight, q) == 0) {
      continue;
    }
    for (std::size_t key = 0; key < p.size(); ++key) p[key] = (p[key] + q[key]) / 2.0;
    tally.add(std::max(0.0, entropy_of(p) - (a.entropies[at] + b.entropies[at]) / 2.0), 0.0);
  }
  ratios_[pair].add(tally);
}

HeadPairs::Nearest HeadPairs::nearest(std::int64_t head) const {
  Nearest nearest;
  for (std::size_t pair = 0; pair < heads_.size(); ++pair) {
    const auto& [a, b] = heads_[pair];
    if (a != head && b != head) continue;
    const Score divergence = ratios_[pair].score();
    if (divergence.rows > 0 && !(nearest.divergence.value <= divergence.value)) {
      nearest = {.head = a == head ? b : a, .divergence = divergence};
    }
  }
  return nearest;
}

}  // namespace headtorch::probe
