#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "src/core/error.hpp"
#include "src/regress/rules.hpp"

namespace headtorch::regress {
namespace {

constexpr const char* kWhere = "plug-in bandwidth";
constexpr std::size_t kPlaces = 401;
constexpr std::size_t kMostBlocks = 5, kLeastBlock = 20;
constexpr double kTrimmed = 0.01, kLeftAtEnds = 0.05;
constexpr double kReach = 4.0;         // bandwidths
constexpr double kLeastNoise = 1e-20;  // of the mean square: below it is rounding
constexpr std::size_t kCoefficients = 5;

struct Pilot {
  double noise = 0.0;       ///< sigma^2
  double theta_24 = 0.0;    ///< mean m'' m''''
  double square_sum = 0.0;  ///< of the residuals
};

/// Quartics on `n_blocks` runs of as many points. x in units of the range, from its middle: less rounding.
Pilot fit_quartics(std::span<const double> x, std::span<const double> y, std::size_t n_blocks) {
  const std::size_t n = x.size(), size = n / n_blocks;
  const double middle = x[0] + (x[n - 1] - x[0]) / 2, unit = x[n - 1] - x[0];
  Pilot pilot;
  for (std::size_t block = 0; block < n_blocks; ++block) {
    const std::size_t first = block * size, stop = block + 1 == n_blocks ? n : first + size;
    const auto rows = static_cast<Eigen::Index>(stop - first);
    Eigen::MatrixXd powers(rows, kCoefficients);
    Eigen::VectorXd values(rows);
    for (Eigen::Index i = 0; i < rows; ++i) {
      const std::size_t at = first + static_cast<std::size_t>(i);
      double power = 1.0;
      for (Eigen::Index k = 0; k < powers.cols(); ++k, power *= (x[at] - middle) / unit) powers(i, k) = power;
      values[i] = y[at];
    }
    const Eigen::VectorXd b = powers.completeOrthogonalDecomposition().solve(values);
    pilot.square_sum += (values - powers * b).squaredNorm();
    for (Eigen::Index i = 0; i < rows; ++i) {
      const double t = powers(i, 1);
      const double second = (2 * b[2] + 6 * b[3] * t + 12 * b[4] * t * t) / std::pow(unit, 2);
      pilot.theta_24 += second * 24 * b[4] / std::pow(unit, 4) / static_cast<double>(n);
    }
  }
  pilot.noise = pilot.square_sum / (static_cast<double>(n) - static_cast<double>(kCoefficients * n_blocks));
  return pilot;
}

/// Mallows' Cp.
std::size_t choose_blocks(std::span<const double> x, std::span<const double> y) {
  const auto n = static_cast<double>(x.size());
  const std::size_t most = std::max<std::size_t>(1, std::min(x.size() / kLeastBlock, kMostBlocks));
  const double noise = fit_quartics(x, y, most).noise;
  std::size_t best = 1;
  double least = 0.0;
  for (std::size_t blocks = 1; blocks <= most; ++blocks) {
    const double cp =
        fit_quartics(x, y, blocks).square_sum / noise + 2.0 * static_cast<double>(kCoefficients * blocks) - n;
    if (blocks == 1 || cp < least) best = blocks, least = cp;
  }
  return best;
}

/// Points shared linearly between the two places beside them.
struct Binned {
  std::vector<double> counts, sums;
  double step = 0.0;
};

Binned bin(std::span<const double> x, std::span<const double> y) {
  Binned binned{std::vector<double>(kPlaces), std::vector<double>(kPlaces), 0.0};
  binned.step = (x.back() - x.front()) / static_cast<double>(kPlaces - 1);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double at = (x[i] - x.front()) / binned.step;
    const std::size_t below = std::min(static_cast<std::size_t>(at), kPlaces - 2);
    const double above = std::min(at - static_cast<double>(below), 1.0);
    binned.counts[below] += 1 - above;
    binned.counts[below + 1] += above;
    binned.sums[below] += (1 - above) * y[i];
    binned.sums[below + 1] += above * y[i];
  }
  return binned;
}

/// The local polynomial of this degree around one binned place.
struct LocalFit {
  Eigen::VectorXd coefficients;  ///< in powers of (x - place) / h
  double own = 0.0;              ///< weight in the value of a point at the place itself
  double squares = 0.0;          ///< sum of the squared weights in the value
};

LocalFit local_polynomial(const Binned& binned, std::size_t place, double h, Eigen::Index degree) {
  const auto reach = static_cast<std::ptrdiff_t>(
      std::min(std::floor(kReach * h / binned.step), static_cast<double>(kPlaces - 1)));
  const auto at = static_cast<std::ptrdiff_t>(place), last = static_cast<std::ptrdiff_t>(kPlaces) - 1;
  Eigen::MatrixXd s = Eigen::MatrixXd::Zero(degree + 1, degree + 1), squared = s;
  Eigen::VectorXd t = Eigen::VectorXd::Zero(degree + 1), powers(degree + 1);
  for (std::ptrdiff_t j = std::max<std::ptrdiff_t>(0, at - reach); j <= std::min(last, at + reach); ++j) {
    const auto bin_j = static_cast<std::size_t>(j);
    const double u = static_cast<double>(j - at) * binned.step / h, weight = std::exp(-u * u / 2);
    powers[0] = 1.0;
    for (Eigen::Index k = 1; k <= degree; ++k) powers[k] = powers[k - 1] * u;
    s += weight * binned.counts[bin_j] * powers * powers.transpose();
    squared += weight * weight * binned.counts[bin_j] * powers * powers.transpose();
    t += weight * binned.sums[bin_j] * powers;
  }
  const auto solver = s.completeOrthogonalDecomposition();
  const Eigen::VectorXd first = solver.solve(Eigen::VectorXd::Unit(degree + 1, 0));
  return {solver.solve(t), first[0], first.dot(squared * first)};
}

/// mean m''^2 over the points between the ends, by a local cubic.
double curvature(const Binned& binned, double h, double n) {
  double sum = 0.0;
  const auto left = static_cast<std::size_t>(kLeftAtEnds * static_cast<double>(kPlaces));
  for (std::size_t place = left; place < kPlaces - left; ++place) {
    if (binned.counts[place] == 0.0) continue;
    const double second = 2 * local_polynomial(binned, place, h, 3).coefficients[2] / (h * h);
    sum += second * second * binned.counts[place] / n;
  }
  return sum;
}

/// sigma^2 by a local line, over its degrees of freedom.
double noise(const Binned& binned, double h, std::span<const double> y) {
  double squares = 0.0, freedom = static_cast<double>(y.size());
  for (const double value : y) squares += value * value;
  for (std::size_t place = 0; place < kPlaces; ++place) {
    const double count = binned.counts[place];
    if (count == 0.0) continue;
    const LocalFit fit = local_polynomial(binned, place, h, 1);
    const double value = fit.coefficients[0];
    squares += value * value * count - 2 * value * binned.sums[place];
    freedom += (fit.squares - 2 * fit.own) * count;
  }
  return squares / freedom;
}

double positive(double value, const char* what) {
  if (!(std::isfinite(value) && value > 0.0))
    throw DataError(kWhere,
                    std::string("the estimated ") + what + " is not above 0, expected data with " + what);
  return value;
}

}  // namespace

double plug_in(const Sample& sample, Kernel kernel) {
  const std::size_t trimmed = static_cast<std::size_t>(kTrimmed * static_cast<double>(sample.size()));
  const auto x = sample.x().subspan(trimmed, sample.size() - 2 * trimmed);
  const auto y = sample.y().subspan(trimmed, x.size());
  std::size_t different = 1;
  for (std::size_t i = 1; i < x.size(); ++i) different += x[i] != x[i - 1];
  if (x.size() < 10 || different < kCoefficients + 1)
    throw DataError(kWhere, "too few points, expected at least 10 with 6 different x");
  if (std::equal(y.begin() + 1, y.end(), y.begin())) positive(0.0, "noise");
  const auto n = static_cast<double>(x.size());
  const double range = x.back() - x.front(), root_pi = std::sqrt(std::numbers::pi);

  const Pilot pilot = fit_quartics(x, y, choose_blocks(x, y));
  double square = 0.0;
  for (const double value : y) square += value * value / n;
  if (!(pilot.noise > kLeastNoise * square)) positive(0.0, "noise");
  positive(std::abs(pilot.theta_24), "curvature");
  const double factor = pilot.theta_24 < 0 ? 3 / (8 * root_pi) : 15 / (16 * root_pi);
  const double h_cubic = std::pow(factor * pilot.noise * range / (std::abs(pilot.theta_24) * n), 1.0 / 7.0);
  const Binned binned = bin(x, y);
  const double theta_22 = positive(curvature(binned, h_cubic, n), "curvature");

  const double c3 = 0.5 + 2 * std::numbers::sqrt2 - 4.0 / 3.0 * std::numbers::sqrt3;
  const double h_noise = std::pow(4 * c3 / std::sqrt(2 * std::numbers::pi) * pilot.noise * pilot.noise *
                                      range / ((theta_22 * n) * (theta_22 * n)),
                                  1.0 / 9.0);
  const double variance = positive(noise(binned, h_noise, y), "noise");
  return std::pow(variance * range / (2 * root_pi * theta_22 * n), 0.2) * canonical_factor(kernel);
}

}  // namespace headtorch::regress
