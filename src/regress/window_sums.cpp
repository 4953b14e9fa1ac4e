#include <algorithm>
#include <array>

#include "src/regress/local_sums.hpp"

namespace headtorch::regress {
namespace {

constexpr double kLeastShare = 1e-3;  // s0 below this share of a window's points: the powers cancel

/// A sum of two doubles, the second what rounding took from the first.
struct Running {
  double high = 0.0, low = 0.0;

  void add(double value) {
    const double sum = high + value, part = sum - high;
    low += (high - (sum - part)) + (value - part);
    high = sum;
  }
};

/// For each point the sums of b^k and b^k y, k <= kDegree, from its block's first point to itself; b = (x -
/// c) / h around the block's centre c.
template <int kDegree>
class BlockSums {
 public:
  using Powers = std::array<double, 2 * (kDegree + 1)>;  // of 1, then of y

  BlockSums(const Sample& sample, double h)
      : per_h_(1.0 / h), blocks_(make_blocks(sample.x(), h)), running_(sample.size()) {
    for (const Block& block : blocks_) {
      std::array<Running, 2 * (kDegree + 1)> sums{};
      for (std::size_t j = block.first; j < block.stop; ++j) {
        const double b = (sample.x()[j] - block.centre) * per_h_;
        double power = 1.0;
        for (std::size_t k = 0; k <= kDegree; ++k, power *= b) {
          sums[k].add(power);
          sums[kDegree + 1 + k].add(power * sample.y()[j]);
        }
        running_[j] = sums;
      }
    }
  }

  /// Sums of u^k and u^k y over the points first .. stop-1, u = (x_j - place) / h. Windows must be asked for
  /// in ascending order.
  Powers window(std::size_t first, std::size_t stop, double place) {
    Powers result{};
    while (block_ < blocks_.size() && blocks_[block_].stop <= first) ++block_;
    for (std::size_t block = block_; block < blocks_.size() && blocks_[block].first < stop; ++block) {
      add_part(result, blocks_[block], std::max(first, blocks_[block].first),
               std::min(stop, blocks_[block].stop), place);
    }
    return result;
  }

 private:
  /// By Pascal's triangle: multiplying out (b + shift)^k.
  void add_part(Powers& result, const Block& block, std::size_t first, std::size_t stop, double place) const {
    const auto& until = running_[stop - 1];
    Powers part;
    for (std::size_t k = 0; k < part.size(); ++k) {
      part[k] = first == block.first ? until[k].high + until[k].low
                                     : (until[k].high - running_[first - 1][k].high) +
                                           (until[k].low - running_[first - 1][k].low);
    }
    const double shift = (block.centre - place) * per_h_;
    for (std::size_t of = 0; of < part.size(); of += kDegree + 1) {
      for (std::size_t round = 0; round < kDegree; ++round) {
        for (std::size_t k = kDegree; k > round; --k) part[of + k] += shift * part[of + k - 1];
      }
    }
    for (std::size_t k = 0; k < part.size(); ++k) result[k] += part[k];
  }

  double per_h_;
  std::vector<Block> blocks_;
  std::vector<std::array<Running, 2 * (kDegree + 1)>> running_;
  std::size_t block_ = 0;
};

/// kCut = 0: weight 1; 2: 1 - u^2; 4: (1 - u^2)^2. kHighest: of the moments wanted.
template <int kCut, int kHighest>
void fill(LocalSums& sums, const SumsRequest& request) {
  constexpr std::size_t kDegree = kCut + kHighest;
  const auto x = request.sample->x(), y = request.sample->y();
  const double h = request.bandwidth;
  BlockSums<kDegree> blocks(*request.sample, h);
  std::size_t first = 0, stop = 0;
  for (std::size_t i = 0; i < request.places.size(); ++i) {
    const double place = request.places[i];
    while (first < x.size() && (kCut == 0 ? place - x[first] > h : place - x[first] >= h)) ++first;
    stop = std::max(stop, first);
    while (stop < x.size() && (kCut == 0 ? x[stop] - place <= h : x[stop] - place < h)) ++stop;
    const auto powers = blocks.window(first, stop, place);
    const auto weighted = [&](std::size_t k) {
      if constexpr (kCut == 4) return powers[k] - 2 * powers[k + 2] + powers[k + 4];
      return kCut == 0 ? powers[k] : powers[k] - powers[k + kCut];
    };
    sums.s0[i] = weighted(0);
    sums.t0[i] = weighted(kDegree + 1);
    if (request.own == Own::kLeftOut) {
      sums.s0[i] -= 1.0;
      sums.t0[i] -= y[i];
    }
    sums.least_s0[i] = kLeastShare * static_cast<double>(stop - first);
    if constexpr (kHighest > 0) {
      sums.s1[i] = weighted(1);
      sums.s2[i] = weighted(2);
      sums.t1[i] = weighted(kDegree + 2);
    }
  }
}

}  // namespace

LocalSums window_sums(const SumsRequest& request, Kernel kernel) {
  LocalSums sums(request);
  const bool all = request.moments == Moments::kAll;
  if (kernel == Kernel::kBox) {
    all ? fill<0, 2>(sums, request) : fill<0, 0>(sums, request);
  } else {
    all ? fill<2, 2>(sums, request) : fill<2, 0>(sums, request);
  }
  return sums;
}

LocalSums squared_epanechnikov_sums(const SumsRequest& request) {
  LocalSums sums(request);
  request.moments == Moments::kAll ? fill<4, 2>(sums, request) : fill<4, 0>(sums, request);
  return sums;
}

}  // namespace headtorch::regress
