#include <algorithm>
#include <array>
#include <cmath>

#include "src/regress/lanes.hpp"
#include "src/regress/local_sums.hpp"

namespace headtorch::regress {
namespace {

constexpr int kTerms = 32;      // a multiple of kLanes
constexpr double kWidth = 1.5;  // of a block, in h: fewer blocks against more terms
constexpr double kReach = 9.7;
constexpr double kFurthest = 40.0;  // beyond it weights are 0, and a^k must not overflow
// With s0 above this share of the points in reach, what series and reach leave out is below 4e-15 of it.
constexpr double kLeastShare = 1e-6;
// A place's own weight is 1: taking it away from less than this costs digits.
constexpr double kLeastWithoutOwn = 1.0 / 64;

/// sum_j exp(-b_j^2 / 2) b_j^k / k! of a block's points, and the same with y.
struct Series {
  double s[kTerms], t[kTerms];
  int terms = kTerms;
};

constexpr std::array<double, kTerms> kInverseFactorial = [] {
  std::array<double, kTerms> values{1.0};
  for (int k = 1; k < kTerms; ++k)
    values[static_cast<std::size_t>(k)] = values[static_cast<std::size_t>(k - 1)] / k;
  return values;
}();

HEADTORCH_EACH_FLOAT_UNIT
void make_series(Series& series, const double* x, const double* y, std::size_t n, double centre,
                 double per_h) {
  constexpr int kGroups = kTerms / kLanes;
  Lanes s[kGroups] = {}, t[kGroups] = {};
  for (std::size_t j = 0; j < n; ++j) {
    const double b = (x[j] - centre) * per_h, b2 = b * b;
    Lanes terms = {1.0, b, b2, b2 * b};
    terms *= std::exp(-b2 / 2);
    for (int group = 0; group < kGroups; ++group) {
      s[group] += terms;
      t[group] += terms * y[j];
      terms *= b2 * b2;
    }
  }
  for (int group = 0; group < kGroups; ++group) {
    Lanes factor;
    load(factor, kInverseFactorial.data() + group * kLanes);
    store(series.s + group * kLanes, s[group] * factor);
    store(series.t + group * kLanes, t[group] * factor);
  }
}

/// Where a block's sums are added: `n` places, rounded up to whole lanes.
struct Target {
  const double* places;
  double *s0, *s1, *s2, *t0, *t1, *t2, *least_s0;
  std::size_t n;
  double centre, per_h, least;
};

HEADTORCH_INLINE void weight_at(Lanes& a, Lanes& weight, const Target& at, std::size_t i) {
  load(a, at.places + i);
  a = (a - at.centre) * at.per_h;
  a = a < kFurthest ? a : Lanes{} + kFurthest;
  a = a > -kFurthest ? a : Lanes{} - kFurthest;
  weight = a * a * -0.5;
  exp_in_place(weight);
}

HEADTORCH_INLINE void add(double* to, const Lanes& sum) {
  Lanes value;
  load(value, to);
  store(to, value + sum);
}

HEADTORCH_EACH_FLOAT_UNIT
void add_zeroth(const Target& at, const Series& series) {
  for (std::size_t i = 0; i < at.n; i += kLanes) {
    Lanes a, weight, s = {}, t = {};
    weight_at(a, weight, at, i);
    for (int k = series.terms - 1; k >= 0; --k) {
      s = s * a + series.s[k];
      t = t * a + series.t[k];
    }
    add(at.s0 + i, weight * s);
    add(at.t0 + i, weight * t);
    add(at.least_s0 + i, Lanes{} + at.least);
  }
}

/// The polynomial's value and first two derivatives (the second halved) are sums of w, w b and w b^2 / 2.
HEADTORCH_EACH_FLOAT_UNIT
void add_moments(const Target& at, const Series& series) {
  for (std::size_t i = 0; i < at.n; i += kLanes) {
    Lanes a, weight, s0 = {}, s1 = {}, s2 = {}, t0 = {}, t1 = {}, t2 = {};
    weight_at(a, weight, at, i);
    for (int k = series.terms - 1; k >= 0; --k) {
      s2 = s2 * a + s1;
      s1 = s1 * a + s0;
      s0 = s0 * a + series.s[k];
      t2 = t2 * a + t1;
      t1 = t1 * a + t0;
      t0 = t0 * a + series.t[k];
    }
    add(at.s0 + i, weight * s0);
    add(at.s1 + i, weight * (s1 - a * s0));
    add(at.s2 + i, weight * (2 * s2 - 2 * a * s1 + a * a * s0));
    add(at.t0 + i, weight * t0);
    add(at.t1 + i, weight * (t1 - a * t0));
    add(at.t2 + i, weight * (2 * t2 - 2 * a * t1 + a * a * t0));
    add(at.least_s0 + i, Lanes{} + at.least);
  }
}

void leave_own_out(LocalSums& sums, std::span<const double> y) {
  for (std::size_t i = 0; i < y.size(); ++i) {
    sums.s0[i] -= 1.0;
    sums.t0[i] -= y[i];
    sums.least_s0[i] = std::max(sums.least_s0[i], kLeastWithoutOwn);
  }
}

}  // namespace

LocalSums gaussian_sums(const SumsRequest& request) {
  const auto x = request.sample->x(), y = request.sample->y();
  const double h = request.bandwidth, per_h = 1.0 / h;
  LocalSums sums(request);
  std::vector<double> places(request.places.begin(), request.places.end());
  places.resize(sums.s0.size(), places.empty() ? 0.0 : places.back());
  std::size_t first = 0, stop = 0;
  for (const Block& block : make_blocks(x, kWidth * h)) {
    const auto from_centre = [&](std::size_t i) { return (request.places[i] - block.centre) * per_h; };
    while (first < request.places.size() && from_centre(first) < -(kReach + kWidth / 2)) ++first;
    while (stop < request.places.size() && from_centre(stop) <= kReach + kWidth / 2) ++stop;
    if (first >= stop) continue;
    const std::size_t n = block.stop - block.first;
    Series series;
    if (x[block.first] == x[block.stop - 1]) series.terms = 1;  // all b are 0
    make_series(series, x.data() + block.first, y.data() + block.first, n, block.centre, per_h);
    const auto from = [first](std::vector<double>& all) {
      return all.empty() ? nullptr : all.data() + first;
    };
    const Target target{.places = places.data() + first,
                        .s0 = from(sums.s0),
                        .s1 = from(sums.s1),
                        .s2 = from(sums.s2),
                        .t0 = from(sums.t0),
                        .t1 = from(sums.t1),
                        .t2 = from(sums.t2),
                        .least_s0 = from(sums.least_s0),
                        .n = stop - first,
                        .centre = block.centre,
                        .per_h = per_h,
                        .least = kLeastShare * static_cast<double>(n)};
    if (request.moments == Moments::kZeroth) {
      add_zeroth(target, series);
    } else {
      add_moments(target, series);
    }
  }
  if (request.own == Own::kLeftOut) leave_own_out(sums, y);
  return sums;
}

}  // namespace headtorch::regress
