#include "src/probe/positional_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "src/probe/gaussian_search.hpp"

namespace headtorch::probe {
namespace {

constexpr double kSearchEps = 1e-6;              // relative tolerance of eps while searching
constexpr double kSameLoss = 1e-6;               // nats a row: two kernels fit alike
constexpr std::size_t kCandidates = 3;           // offsets or keys tried
constexpr std::size_t kSearchCells = 16 * 1024;  // weights looked at while searching; all for the last steps
constexpr std::size_t kSearchRows = 32;          // and at least so many rows

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

/// The loss at an offset and bandwidth with the best eps; keeps its room and its last eps between calls.
class ProfiledLoss {
 public:
  ProfiledLoss(std::span<const SummedRow> rows, double slope) : rows_(rows), slope_(slope) {}

  double operator()(const GaussianPoint& at) {
    mixture_.clear();
    for (const SummedRow& row : rows_) {
      add_gaussian_row(row, slope_ * static_cast<double>(row.query) + at.offset, std::exp(at.log_bandwidth),
                       window_, mixture_);
    }
    const Mixture::Best best = mixture_.best(kSearchEps, eps_);
    eps_ = best.eps;
    return best.loss;
  }

 private:
  std::span<const SummedRow> rows_;
  double slope_, eps_ = 0.1;
  GaussianWindow window_;
  Mixture mixture_;
};

KernelFit with_best_eps(std::span<const SummedRow> rows, double slope, const GaussianPoint& at) {
  KernelFit fit{.kernel = {.family = KernelFamily::kGaussian,
                           .slope = slope,
                           .offset = at.offset,
                           .bandwidth = std::exp(at.log_bandwidth)}};
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

void gaussian_window(double centre, double bandwidth, const SummedRow& row, GaussianWindow& window) {
  const double low = static_cast<double>(row.first), last = static_cast<double>(row.stop() - 1);
  double nearest = std::abs(std::clamp(std::round(centre), low, last) - centre);
  if (!row.open.empty()) {
    nearest = std::numeric_limits<double>::infinity();
    for (std::int64_t key = row.first; key < row.stop(); ++key) {
      if (row.sees(key)) nearest = std::min(nearest, std::abs(static_cast<double>(key) - centre));
    }
  }
  const double reach = std::sqrt(nearest * nearest + 80.0 * bandwidth * bandwidth);
  const double first = std::clamp(std::ceil(centre - reach), low, last);
  const double stop = std::clamp(std::floor(centre + reach), first, last);
  window.first = static_cast<std::int64_t>(first);
  window.k0.resize(static_cast<std::size_t>(stop - first) + 1);
  double sum = 0.0;
  for (std::size_t i = 0; i < window.k0.size(); ++i) {
    const double distance = std::abs(first + static_cast<double>(i) - centre);
    window.k0[i] = std::exp(-0.5 * ((distance - nearest) / bandwidth) * ((distance + nearest) / bandwidth));
    if (!row.open.empty() && !row.sees(window.first + static_cast<std::int64_t>(i))) window.k0[i] = 0.0;
    sum += window.k0[i];
  }
  for (double& weight : window.k0) weight /= sum;
}

void add_gaussian_row(const SummedRow& row, double centre, double bandwidth, GaussianWindow& window,
                      Mixture& mixture) {
  gaussian_window(centre, bandwidth, row, window);
  const double uniform = 1.0 / static_cast<double>(row.visible);
  const auto mass = row.mass.subspan(static_cast<std::size_t>(window.first), window.k0.size());
  double inside = 0.0;
  for (std::size_t i = 0; i < mass.size(); ++i) {
    inside += mass[i];
    mixture.add(row.weight * mass[i], window.k0[i], uniform);
  }
  if (std::ssize(mass) < row.stop() - row.first) {
    mixture.add(row.weight * (row.inputs - inside), 0.0, uniform);
  }
}

Mixture positional_mixture(std::span<const SummedRow> rows, const HeadKernel& kernel) {
  Mixture mixture;
  GaussianWindow window;
  for (const SummedRow& row : rows) {
    if (kernel.family == KernelFamily::kGaussian) {
      add_gaussian_row(row, kernel.slope * static_cast<double>(row.query) + kernel.offset, kernel.bandwidth,
                       window, mixture);
      continue;
    }
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
    const auto k0 = mean.subspan(static_cast<std::size_t>(row.query * keys), row.mass.size());
    double sum = 0.0;
    for (std::int64_t key = row.first; key < row.stop(); ++key) {
      if (row.sees(key)) sum += k0[static_cast<std::size_t>(key)];
    }
    const double uniform = 1.0 / static_cast<double>(row.visible);
    for (std::int64_t key = row.first; key < row.stop(); ++key) {
      if (!row.sees(key)) continue;
      const auto at = static_cast<std::size_t>(key);
      mixture.add(row.weight * row.mass[at], sum > 0.0 ? k0[at] / sum : uniform, uniform);
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
  const GaussianPoint best =
      coarse_search(ProfiledLoss(some, slope), peaks(profile(rows, slope)), greatest_bandwidth(rows));
  return with_best_eps(rows, slope, best);
}

KernelFit polish_gaussian(std::span<const SummedRow> rows, const KernelFit& fit) {
  const GaussianPoint start{.offset = fit.kernel.offset, .log_bandwidth = std::log(fit.kernel.bandwidth)};
  const double greatest = greatest_bandwidth(rows);
  const GaussianLoss loss = ProfiledLoss(rows, fit.kernel.slope);
  const GaussianPoint near =
      refine(loss, start, {.step = 0.05, .least_step = 0.02, .greatest_bandwidth = greatest});
  const GaussianPoint best = finish(loss, near, greatest);
  const KernelFit found = with_best_eps(rows, fit.kernel.slope, best);
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
