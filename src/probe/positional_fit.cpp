#include "src/probe/positional_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "src/probe/gaussian_search.hpp"
#include "src/probe/sums.hpp"

namespace headtorch::probe {
namespace {

constexpr double kSearchEps = 1e-6;              // relative tolerance of eps while searching
constexpr double kSameLoss = 1e-6;               // nats a row: two kernels fit alike
constexpr std::size_t kCandidates = 3;           // offsets or keys tried
constexpr std::size_t kSearchCells = 16 * 1024;  // weights looked at while searching; all for the last steps
constexpr std::size_t kSearchRows = 32;          // and at least so many rows
constexpr double kReach = 80.0;  // window: where (distance^2 - nearest^2) / bandwidth^2 is at most this
constexpr double kShared = 6.0;  // bandwidths to the nearest key, up to which rows share values of K0

/// Rows at even steps of the weight, as many as stand for all of them while searching.
std::vector<SummedRow> sample(std::span<const SummedRow> rows) {
  std::size_t cells = 0;
  for (const SummedRow& row : rows) cells += row.mass.size();
  const std::size_t wanted =
      std::max(kSearchRows, rows.size() * kSearchCells / std::max<std::size_t>(cells, 1));
  if (wanted >= rows.size()) return {rows.begin(), rows.end()};
  std::vector<SummedRow> chosen;
  double passed = 0.0;
  std::size_t taken = 0;
  for (const SummedRow& row : rows) {
    passed += row.weight * row.inputs;
    const auto due = static_cast<std::size_t>(std::floor(passed * static_cast<double>(wanted) + 0.5));
    if (due <= taken) continue;
    chosen.push_back(row);
    chosen.back().weight = static_cast<double>(due - taken) / (static_cast<double>(wanted) * row.inputs);
    taken = due;
  }
  return chosen;
}

/// The keys on which a Gaussian is not negligible, and the distance of the nearest that the row sees.
struct Window {
  std::int64_t first = 0, stop = 0;
  double nearest = 0.0;

  std::size_t size() const { return static_cast<std::size_t>(stop - first); }
};

Window window_of(const SummedRow& row, double centre, double bandwidth) {
  const double low = static_cast<double>(row.first), last = static_cast<double>(row.stop() - 1);
  double nearest = std::abs(std::clamp(std::round(centre), low, last) - centre);
  if (!row.open.empty()) {
    nearest = std::numeric_limits<double>::infinity();
    for (std::int64_t key = row.first; key < row.stop(); ++key) {
      if (row.sees(key)) nearest = std::min(nearest, std::abs(static_cast<double>(key) - centre));
    }
  }
  const double reach = std::sqrt(nearest * nearest + kReach * bandwidth * bandwidth);
  const double first = std::clamp(std::ceil(centre - reach), low, last);
  const double end = std::clamp(std::floor(centre + reach), first, last);
  return {static_cast<std::int64_t>(first), static_cast<std::int64_t>(end) + 1, nearest};
}

/// A row whose K0 in the window is in proportion to what stands at `k0` in the mixture, and else 0.
void add_window(const SummedRow& row, const Window& window, std::size_t k0, Mixture& mixture) {
  const std::span<const double> values = mixture.k0(k0, window.size());
  double sum = 0.0;
  if (row.open.empty()) {
    sum = sum_of(values);
  } else {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (row.sees(window.first + static_cast<std::int64_t>(i))) sum += values[i];
    }
  }
  const auto mass = row.mass.subspan(static_cast<std::size_t>(window.first), window.size());
  const double uniform = 1.0 / static_cast<double>(row.visible);
  mixture.add_row({.mass = mass, .weight = row.weight, .k0 = k0, .scale = 1.0 / sum, .uniform = uniform});
  if (std::ssize(mass) < row.stop() - row.first) {
    mixture.add(row.weight * (row.inputs - sum_of(mass)), 0.0, uniform);
  }
}

/// A row with values of its own, the largest of them 1.
void add_own_row(const SummedRow& row, const Window& window, double centre, double bandwidth,
                 Mixture& mixture) {
  const std::size_t start = mixture.room(window.size());
  const std::span<double> k0 = mixture.k0(start, window.size());
  for (std::size_t i = 0; i < k0.size(); ++i) {
    const std::int64_t key = window.first + static_cast<std::int64_t>(i);
    if (!row.sees(key)) continue;
    const double distance = std::abs(static_cast<double>(key) - centre), nearest = window.nearest;
    k0[i] = std::exp(-0.5 * ((distance - nearest) / bandwidth) * ((distance + nearest) / bandwidth));
  }
  add_window(row, window, start, mixture);
}

/// exp(-(d - offset)^2 / 2 bandwidth^2) by whole d = key - slope * query: what the rows of a whole slope
/// share.
struct SharedGaussian {
  std::int64_t first = 0;  // d of the first value
  std::size_t start = 0;   // where it stands in the mixture
};

SharedGaussian share_gaussian(std::span<const SummedRow> rows, const HeadKernel& kernel, Mixture& mixture) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const SummedRow& row : rows) {
    const double shift = kernel.slope * static_cast<double>(row.query);
    low = std::min(low, static_cast<double>(row.first) - shift);
    high = std::max(high, static_cast<double>(row.stop() - 1) - shift);
  }
  // A little further than the furthest window.
  const double reach = kernel.bandwidth * std::sqrt(kShared * kShared + kReach) + 1.0;
  low = std::max(low, std::floor(kernel.offset - reach));
  high = std::min(high, std::ceil(kernel.offset + reach));
  const std::size_t size = high >= low ? static_cast<std::size_t>(high - low) + 1 : 0;
  const std::size_t start = mixture.room(size);
  const std::span<double> k0 = mixture.k0(start, size);
  for (std::size_t i = 0; i < size; ++i) {
    const double distance = (low + static_cast<double>(i) - kernel.offset) / kernel.bandwidth;
    k0[i] = std::exp(-0.5 * distance * distance);
  }
  return {static_cast<std::int64_t>(low), start};
}

void add_gaussian_rows(std::span<const SummedRow> rows, const HeadKernel& kernel, Mixture& mixture) {
  const bool whole = kernel.slope == std::round(kernel.slope);
  const SharedGaussian shared = whole ? share_gaussian(rows, kernel, mixture) : SharedGaussian{};
  for (const SummedRow& row : rows) {
    const double centre = kernel.slope * static_cast<double>(row.query) + kernel.offset;
    const Window window = window_of(row, centre, kernel.bandwidth);
    if (whole && window.nearest <= kShared * kernel.bandwidth) {
      const std::int64_t d = window.first - std::llround(kernel.slope) * row.query;
      add_window(row, window, shared.start + static_cast<std::size_t>(d - shared.first), mixture);
    } else {
      add_own_row(row, window, centre, kernel.bandwidth, mixture);
    }
  }
}

/// Rows to fit a Gaussian of one slope to. Of slope 0 it has the same K in all rows that see the same keys:
/// one row of their summed mass then stands for them.
class RowsOfSlope {
 public:
  RowsOfSlope(std::span<const SummedRow> rows, double slope) {
    for (auto row = rows.begin(); row != rows.end();) {
      const auto end =
          slope == 0.0
              ? std::find_if(row + 1, rows.end(), [&](const SummedRow& other) { return !alike(*row, other); })
              : row + 1;
      rows_.push_back(end - row == 1 ? *row : summed({row, end}));
      row = end;
    }
  }
  std::span<const SummedRow> rows() const { return rows_; }

 private:
  static bool alike(const SummedRow& a, const SummedRow& b) {
    return a.first == b.first && a.stop() == b.stop() && a.open.data() == b.open.data();
  }

  SummedRow summed(std::span<const SummedRow> rows) {
    SummedRow sum = rows.front();
    sum.weight = 1.0;
    sum.inputs = 0.0;
    std::vector<double>& mass = masses_.emplace_back(sum.mass.size());
    for (const SummedRow& row : rows) {
      sum.inputs += row.weight * row.inputs;
      for (std::size_t key = 0; key < mass.size(); ++key) mass[key] += row.weight * row.mass[key];
    }
    sum.mass = mass;
    return sum;
  }

  std::vector<std::vector<double>> masses_;  // of those summed
  std::vector<SummedRow> rows_;
};

/// Weight above uniform by key - slope * query, rounded; `first` is what index 0 stands for.
struct Profile {
  std::int64_t first = 0;
  std::vector<double> excess;
};

Profile profile(std::span<const SummedRow> rows, double slope) {
  std::int64_t last_query = 0, keys = 0;
  for (const SummedRow& row : rows) {
    last_query = std::max(last_query, row.query);
    keys = std::max(keys, row.stop());
  }
  const auto shift = [slope](std::int64_t query) {
    return std::llround(-slope * static_cast<double>(query));
  };
  const std::int64_t furthest = shift(last_query);
  Profile profile{.first = std::min<std::int64_t>(furthest, 0), .excess = {}};
  profile.excess.resize(static_cast<std::size_t>(keys + std::abs(furthest)));
  for (const SummedRow& row : rows) {
    const double uniform = row.inputs / static_cast<double>(row.visible);
    const std::int64_t start = shift(row.query) - profile.first;
    for (std::int64_t key = row.first; key < row.stop(); ++key) {
      if (!row.sees(key)) continue;
      profile.excess[static_cast<std::size_t>(start + key)] +=
          row.weight * (row.mass[static_cast<std::size_t>(key)] - uniform);
    }
  }
  return profile;
}

std::vector<double> peaks(const Profile& profile) {
  std::vector<std::size_t> order(profile.excess.size());
  std::iota(order.begin(), order.end(), 0U);
  const std::size_t n = std::min(kCandidates, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n), order.end(),
                    [&](std::size_t a, std::size_t b) {
                      return profile.excess[a] != profile.excess[b] ? profile.excess[a] > profile.excess[b]
                                                                    : a < b;
                    });
  std::vector<double> places;
  for (std::size_t i = 0; i < n; ++i) {
    places.push_back(static_cast<double>(profile.first + static_cast<std::int64_t>(order[i])));
  }
  // A broad head peaks nowhere in particular: also the middle of what is above uniform.
  double above = 0.0, moment = 0.0;
  for (std::size_t i = 0; i < profile.excess.size(); ++i) {
    const double excess = std::max(0.0, profile.excess[i]);
    above += excess;
    moment += excess * static_cast<double>(profile.first + static_cast<std::int64_t>(i));
  }
  if (above > 0.0) places.push_back(moment / above);
  return places;
}

HeadKernel gaussian(double slope, const GaussianPoint& at) {
  return {.family = KernelFamily::kGaussian,
          .slope = slope,
          .offset = at.offset,
          .bandwidth = std::exp(at.log_bandwidth)};
}

/// The loss at an offset and bandwidth with the best eps; keeps its room and its last eps between calls.
class ProfiledLoss {
 public:
  ProfiledLoss(std::span<const SummedRow> rows, double slope) : rows_(rows), slope_(slope) {}

  double operator()(const GaussianPoint& at) {
    mixture_.clear();
    add_gaussian_rows(rows_, gaussian(slope_, at), mixture_);
    const Mixture::Best best = mixture_.best(kSearchEps, eps_);
    eps_ = best.eps;
    return best.loss;
  }

 private:
  std::span<const SummedRow> rows_;
  double slope_, eps_ = 0.1;
  Mixture mixture_;
};

KernelFit with_best_eps(std::span<const SummedRow> rows, double slope, const GaussianPoint& at) {
  KernelFit fit{.kernel = gaussian(slope, at)};
  const Mixture::Best mixed = positional_mixture(rows, fit.kernel).best(kTightEps);
  fit.kernel.eps = mixed.eps;
  fit.loss = mixed.loss;
  return fit;
}

double greatest_bandwidth(std::span<const SummedRow> rows) {
  std::int64_t keys = 1;
  for (const SummedRow& row : rows) keys = std::max(keys, row.stop());
  return 4.0 * static_cast<double>(keys);
}

}  // namespace

void add_gaussian_row(const SummedRow& row, double centre, double bandwidth, Mixture& mixture) {
  add_own_row(row, window_of(row, centre, bandwidth), centre, bandwidth, mixture);
}

Mixture positional_mixture(std::span<const SummedRow> rows, const HeadKernel& kernel) {
  Mixture mixture;
  if (kernel.family == KernelFamily::kGaussian) {
    add_gaussian_rows(rows, kernel, mixture);
    return mixture;
  }
  for (const SummedRow& row : rows) {
    const double uniform = 1.0 / static_cast<double>(row.visible);
    if (kernel.family == KernelFamily::kKey && row.sees(kernel.key)) {
      const double on = row.mass[static_cast<std::size_t>(kernel.key)];
      mixture.add(row.weight * on, 1.0, uniform);
      mixture.add(row.weight * (row.inputs - on), 0.0, uniform);
    } else {
      mixture.add(row.weight * row.inputs, uniform, uniform);
    }
  }
  return mixture;
}

Mixture mean_mixture(std::span<const SummedRow> rows, std::span<const double> mean, std::int64_t keys) {
  Mixture mixture;
  for (const SummedRow& row : rows) {
    const std::size_t start = mixture.room(row.mass.size());
    const std::span<double> k0 = mixture.k0(start, row.mass.size());
    double sum = 0.0;
    for (std::int64_t key = row.first; key < row.stop(); ++key) {
      if (!row.sees(key)) continue;
      const auto at = static_cast<std::size_t>(key);
      sum += k0[at] = mean[static_cast<std::size_t>(row.query * keys) + at];
    }
    const double uniform = 1.0 / static_cast<double>(row.visible);
    if (sum > 0.0) {
      mixture.add_row(
          {.mass = row.mass, .weight = row.weight, .k0 = start, .scale = 1.0 / sum, .uniform = uniform});
    } else {
      mixture.add(row.weight * row.inputs, uniform, uniform);
    }
  }
  return mixture;
}

KernelFit fit_key(std::span<const SummedRow> rows) {
  KernelFit best{.kernel = {.family = KernelFamily::kKey}, .loss = std::numeric_limits<double>::infinity()};
  for (const double place : peaks(profile(rows, 0.0))) {
    HeadKernel kernel{.family = KernelFamily::kKey, .key = static_cast<std::int64_t>(std::round(place))};
    const Mixture::Best fit = positional_mixture(rows, kernel).best(kTightEps);
    kernel.eps = fit.eps;
    if (fit.loss < best.loss) best = {.kernel = kernel, .loss = fit.loss};
  }
  return best;
}

KernelFit search_gaussian(std::span<const SummedRow> rows, double slope) {
  const std::vector<SummedRow> some = sample(rows);
  const RowsOfSlope few(some, slope), all(rows, slope);
  const GaussianPoint best =
      coarse_search(ProfiledLoss(few.rows(), slope), peaks(profile(rows, slope)), greatest_bandwidth(rows));
  return with_best_eps(all.rows(), slope, best);
}

KernelFit polish_gaussian(std::span<const SummedRow> rows, const KernelFit& fit) {
  const GaussianPoint start{.offset = fit.kernel.offset, .log_bandwidth = std::log(fit.kernel.bandwidth)};
  const double greatest = greatest_bandwidth(rows);
  const RowsOfSlope all(rows, fit.kernel.slope);
  const GaussianLoss loss = ProfiledLoss(all.rows(), fit.kernel.slope);
  const GaussianPoint near =
      refine(loss, start, {.step = 0.05, .least_step = 0.02, .greatest_bandwidth = greatest});
  const GaussianPoint best = finish(loss, near, greatest);
  const KernelFit found = with_best_eps(all.rows(), fit.kernel.slope, best);
  if (fit.kernel.slope != 1.0 || best.offset <= 0.0) return found;
  // Under a causal mask a narrow kernel ahead of the query is the own position, and is called so.
  double weight = 0.0;
  for (const SummedRow& row : rows) weight += row.weight * row.inputs;
  for (const double log_bandwidth : {best.log_bandwidth, std::log(kLeastBandwidth)}) {
    const KernelFit own = with_best_eps(rows, 1.0, {.offset = 0.0, .log_bandwidth = log_bandwidth});
    if (own.loss <= found.loss + kSameLoss * weight) return own;
  }
  return found;
}

}  // namespace headtorch::probe
