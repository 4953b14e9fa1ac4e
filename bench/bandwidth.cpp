// How long does leave-one-out take over 100 bandwidths, beside a double loop over all pairs?
// Prints one JSON document; exits with 2 where the two differ. One thread.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "headtorch_version.hpp"
#include "src/core/error.hpp"
#include "src/core/philox.hpp"
#include "src/regress/kernel_regression.hpp"
#include "src/regress/leave_one_out.hpp"

namespace {

using namespace headtorch;
using regress::Degree;
using regress::Kernel;
using regress::Smoother;

constexpr int kRuns = 5;
constexpr double kMostDifference = 1e-10;
constexpr std::pair<Kernel, const char*> kKernels[] = {{Kernel::kGaussian, "gaussian"},
                                                       {Kernel::kExponential, "exponential"},
                                                       {Kernel::kEpanechnikov, "epanechnikov"},
                                                       {Kernel::kBox, "box"}};

struct Points {
  std::vector<double> x, y;
};

Points noisy_sine(std::size_t n) {
  Random random(1, 0);
  Points points;
  for (std::size_t i = 0; i < n; ++i) {
    points.x.push_back(random.uniform());
    const double radius = std::sqrt(-2.0 * std::log(1.0 - random.uniform()));
    points.y.push_back(std::sin(12.0 * points.x[i]) +
                       0.3 * radius * std::cos(6.283185307179586 * random.uniform()));
  }
  return points;
}

std::vector<double> bandwidth_grid(std::size_t n) {
  std::vector<double> grid;
  for (std::size_t i = 0; i < n; ++i)
    grid.push_back(std::pow(10.0, -3.0 + 3.0 * static_cast<double>(i) / static_cast<double>(n - 1)));
  return grid;
}

double weight(Kernel kernel, double u) {
  switch (kernel) {
    case Kernel::kGaussian:
      return std::exp(-u * u / 2);
    case Kernel::kExponential:
      return std::exp(-std::abs(u));
    case Kernel::kEpanechnikov:
      return std::max(0.0, 1 - u * u);
    case Kernel::kBox:
      return std::abs(u) <= 1 ? 1.0 : 0.0;
  }
  return 0.0;
}

/// The error of degree kConstant over all pairs. Only for bandwidths at which every point has neighbours.
double naive_error(const Points& points, Kernel kernel, double h) {
  const std::size_t n = points.x.size();
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    double s0 = 0.0, t0 = 0.0;
    for (std::size_t j = 0; j < n; ++j) {
      const double w = j == i ? 0.0 : weight(kernel, (points.x[j] - points.x[i]) / h);
      s0 += w;
      t0 += w * points.y[j];
    }
    sum += std::pow(points.y[i] - t0 / s0, 2);
  }
  return sum / static_cast<double>(n);
}

double seconds_of(const std::function<void()>& task) {
  const auto start = std::chrono::steady_clock::now();
  task();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string spread(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return fmt::format(R"({{"median": {:.5f}, "min": {:.5f}, "max": {:.5f}}})", seconds[seconds.size() / 2],
                     seconds.front(), seconds.back());
}

std::string time_of(const std::function<void()>& task) {
  std::vector<double> seconds;
  for (int run = 0; run < kRuns; ++run) seconds.push_back(seconds_of(task));
  return spread(seconds);
}

std::string processor() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

void print_times(const char* name, const Points& points, const std::vector<double>& bandwidths) {
  fmt::print("\n  {{\"n\": {}, \"bandwidths\": {}, \"kernel\": \"{}\"", points.x.size(), bandwidths.size(),
             name);
}

/// Ours for all bandwidths; the double loop on three of them, in turn with ours on the same three.
double compare(Kernel kernel, const char* name, const Points& points, const std::vector<double>& bandwidths) {
  const auto errors = [&](const std::vector<double>& at) {
    return leave_one_out_errors(regress::Sample(points.x, points.y), {kernel, Degree::kConstant}, at);
  };
  print_times(name, points, bandwidths);
  fmt::print(", \"seconds\": {}", time_of([&] { errors(bandwidths); }));
  const std::vector<double> few{bandwidths[33], bandwidths[66], bandwidths[99]};
  std::vector<double> ours, naive, ratio, found, expected(few.size());
  for (int run = 0; run < kRuns; ++run) {
    ours.push_back(seconds_of([&] { found = errors(few); }));
    naive.push_back(seconds_of([&] {
      for (std::size_t i = 0; i < few.size(); ++i) expected[i] = naive_error(points, kernel, few[i]);
    }));
    ratio.push_back(naive.back() / ours.back());
  }
  double largest = 0.0;
  for (std::size_t i = 0; i < few.size(); ++i)
    largest = std::max(largest, std::abs(found[i] / expected[i] - 1.0));
  fmt::print(
      ", \"three_bandwidths\": {}, \"three_naive\": {}, \"times_faster\": {}, \"largest_difference\": "
      "{:.1e}}},",
      spread(ours), spread(naive), spread(ratio), largest);
  std::fflush(stdout);
  return largest;
}

bool run() {
  fmt::print(
      R"({{"question": "seconds of exact leave-one-out", "processor": "{}", "build": "{}", "threads": 1,)"
      R"( "runs": {}, "rows": [)",
      processor(), kBuildType, kRuns);
  const Points small = noisy_sine(5000), large = noisy_sine(100000);
  const std::vector<double> grid = bandwidth_grid(100), one{0.01};
  double largest = 0.0;
  for (const auto& [kernel, name] : kKernels) largest = std::max(largest, compare(kernel, name, small, grid));
  for (const Points* points : {&small, &large}) {
    const std::vector<double>& bandwidths = points == &small ? grid : one;
    for (const auto& [kernel, name] : kKernels) {
      for (const Degree degree : {Degree::kConstant, Degree::kLinear}) {
        print_times(name, *points, bandwidths);
        fmt::print(
            ", \"degree\": {}, \"seconds\": {}}},", degree == Degree::kConstant ? 0 : 1, time_of([&] {
              leave_one_out_errors(regress::Sample(points->x, points->y), {kernel, degree}, bandwidths);
            }));
        std::fflush(stdout);
      }
    }
    print_times("gaussian_slope", *points, bandwidths);
    fmt::print(", \"seconds\": {}}},", time_of([&] {
                 const regress::Sample sample(points->x, points->y);
                 for (const double h : bandwidths) gaussian_leave_one_out(sample, h);
               }));
  }
  const std::vector<double> places = bandwidth_grid(500);
  print_times("gaussian_curve_at_500", large, one);
  fmt::print(", \"seconds\": {}}}\n], \"largest_difference\": {:.1e}}}\n", time_of([&] {
               kernel_regression(regress::Sample(large.x, large.y), Smoother{}, one[0], places);
             }),
             largest);
  return largest <= kMostDifference;
}

}  // namespace

int main() {
  try {
    return run() ? 0 : static_cast<int>(ExitCode::kCheckFailed);
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(error.code());
  }
}
