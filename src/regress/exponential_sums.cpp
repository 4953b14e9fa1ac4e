#include <algorithm>
#include <cmath>
#include <limits>

#include "src/regress/lanes.hpp"
#include "src/regress/local_sums.hpp"

namespace headtorch::regress {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();
constexpr double kFurthest = 1000.0;  // bandwidths: weights are 0 there, and 0 times infinity must not appear

/// Sums at a point over it and all points on one side, at distances v = |u|.
struct Side {
  double s0 = 0.0, t0 = 0.0, s1 = 0.0, t1 = 0.0, s2 = 0.0;

  void move(double v, double decay) {
    s2 = decay * (s2 + v * (2 * s1 + v * s0));
    s1 = decay * (s1 + v * s0);
    t1 = decay * (t1 + v * t0);
    s0 *= decay;
    t0 *= decay;
  }
};

/// Points 0 .. before[i]-1 are on the left of place i, those from after[i] on its right.
struct Neighbours {
  std::vector<std::size_t> before, after;
};

Neighbours find_neighbours(const SumsRequest& request) {
  const auto x = request.sample->x();
  Neighbours found;
  std::size_t j = 0;
  for (std::size_t i = 0; i < request.places.size(); ++i) {
    if (request.own == Own::kLeftOut) {
      found.before.push_back(i);
      found.after.push_back(i + 1);
      continue;
    }
    while (j < x.size() && x[j] <= request.places[i]) ++j;
    found.before.push_back(j);
    found.after.push_back(j);
  }
  return found;
}

/// decay[j] = exp(-(x_j - x_(j-1)) / h).
HEADTORCH_EACH_FLOAT_UNIT
void fill_decay(double* decay, const double* x, std::size_t n, double per_h) {
  std::size_t j = 1;
  for (; j + kLanes <= n; j += kLanes) {
    Lanes here, before;
    load(here, x + j);
    load(before, x + j - 1);
    Lanes power = (before - here) * per_h;
    exp_in_place(power);
    store(decay + j, power);
  }
  for (; j < n; ++j) decay[j] = std::exp((x[j - 1] - x[j]) * per_h);
}

class Sweep {
 public:
  Sweep(const SumsRequest& request, LocalSums& sums)
      : x_(request.sample->x()),
        y_(request.sample->y()),
        places_(request.places),
        per_h_(1.0 / request.bandwidth),
        moments_(request.moments),
        sums_(sums),
        neighbours_(find_neighbours(request)),
        decay_(x_.size()) {
    fill_decay(decay_.data(), x_.data(), x_.size(), per_h_);
  }

  void left() {
    Side side;
    std::size_t taken = 0;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      for (; taken < neighbours_.before[i]; ++taken) take(side, taken, taken);
      add(i, side, distance_left(i), -1.0);
    }
  }

  void right() {
    Side side;
    std::size_t taken = x_.size();
    for (std::size_t i = places_.size(); i-- > 0;) {
      for (; taken > neighbours_.after[i]; --taken) take(side, taken - 1, taken);
      add(i, side, distance_right(i), 1.0);
    }
  }

 private:
  double distance_left(std::size_t i) const {
    const std::size_t before = neighbours_.before[i];
    return before == 0 ? kNone : places_[i] - x_[before - 1];
  }

  double distance_right(std::size_t i) const {
    const std::size_t after = neighbours_.after[i];
    return after == x_.size() ? kNone : x_[after] - places_[i];
  }

  /// Moves `side` across gap `gap` (from point gap - 1 to point gap) and adds point j.
  void take(Side& side, std::size_t j, std::size_t gap) const {
    if (gap > 0 && gap < x_.size()) {
      if (moments_ == Moments::kAll) {
        side.move(std::min((x_[gap] - x_[gap - 1]) * per_h_, kFurthest), decay_[gap]);
      } else {
        side.s0 *= decay_[gap];
        side.t0 *= decay_[gap];
      }
    }
    side.s0 += 1.0;
    side.t0 += y_[j];
  }

  void add(std::size_t i, Side side, double distance, double sign) {
    if (distance == kNone) return;
    const double nearest = std::min(distance_left(i), distance_right(i));
    const double weight = distance == nearest ? 1.0 : std::exp((nearest - distance) * per_h_);
    if (moments_ == Moments::kAll) {
      side.move(distance * per_h_, 1.0);
      sums_.s1[i] += sign * weight * side.s1;
      sums_.t1[i] += sign * weight * side.t1;
      sums_.s2[i] += weight * side.s2;
    }
    sums_.s0[i] += weight * side.s0;
    sums_.t0[i] += weight * side.t0;
  }

  std::span<const double> x_, y_, places_;
  double per_h_;
  Moments moments_;
  LocalSums& sums_;
  Neighbours neighbours_;
  std::vector<double> decay_;
};

}  // namespace

LocalSums exponential_sums(const SumsRequest& request) {
  LocalSums sums(request);
  Sweep sweep(request, sums);
  sweep.left();
  sweep.right();
  return sums;
}

}  // namespace headtorch::regress
