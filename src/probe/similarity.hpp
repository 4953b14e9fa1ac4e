#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "src/probe/ratio.hpp"
#include "src/probe/recorded_input.hpp"

namespace headtorch::probe {

/// Jensen-Shannon divergence of two heads' rows, nats, mean over the rows in which both see a key:
/// H((p + q) / 2) - (H(p) + H(q)) / 2 (Lin 1991; Clark et al. 2019).
class HeadPairs {
 public:
  explicit HeadPairs(std::int64_t heads);

  std::size_t size() const { return ratios_.size(); }
  /// The heads of a pair, the first smaller.
  std::pair<std::int64_t, std::int64_t> heads(std::size_t pair) const { return heads_[pair]; }

  struct Rows {
    std::span<const float> weights;     ///< [queries, keys]
    std::span<const double> entropies;  ///< by query, -1 where it sees nothing
  };
  void add(std::size_t pair, const RecordedInput& input, std::int64_t keys, const Rows& a, const Rows& b);

  struct Nearest {
    std::int64_t head = -1;
    Score divergence;
  };
  /// The other head nearest to this one; head -1 when there is none or no row.
  Nearest nearest(std::int64_t head) const;

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>> heads_;
  std::vector<Ratio> ratios_;
};

}  // namespace headtorch::probe
