// How long does the choice of a bandwidth take, one column, leave-one-out, Gaussian, one thread? The data of
// bench/peers/bandwidth.py. Usage: bench_bandwidth_choice N [RUNS]     Prints one JSON document.

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "src/core/error.hpp"
#include "src/regress/kernel_regression.hpp"
#include "src/regress/regression.hpp"

namespace {

using namespace headtorch;

double fraction(double z) { return z - std::floor(z); }

regress::RegressionData waves(std::size_t n) {
  regress::RegressionData data{.x = {{}}, .y = {}};
  for (std::size_t i = 1; i <= n; ++i) {
    const auto at = static_cast<double>(i);
    const double x = fraction(at * 0.6180339887498949), u = fraction(at * 0.41421356237309515);
    data.x[0].numbers.push_back(x);
    data.y.numbers.push_back(std::sin(4 * M_PI * x) +
                             0.3 * std::sqrt(-2 * std::log(1 - u)) *
                                 std::cos(2 * M_PI * fraction(at * 0.7320508075688772)));
  }
  return data;
}

rusage used() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage;
}

/// Of this process: a busy machine does not lengthen it.
double cpu_seconds() {
  const timeval time = used().ru_utime;
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

void run(std::size_t n, std::size_t runs) {
  const regress::RegressionData data = waves(n);
  std::vector<double> seconds, seconds_with_curve, places;
  for (int i = 0; i < 500; ++i) places.push_back(i / 499.0);
  regress::ChosenBandwidth chosen;
  for (std::size_t turn = 0; turn < runs; ++turn) {
    const double start = cpu_seconds();
    chosen = regress::choose_bandwidth(data, {}, {});
    seconds.push_back(cpu_seconds() - start);
    regress::kernel_regression({data.x[0].numbers, data.y.numbers}, {}, chosen.bandwidth[0], places);
    seconds_with_curve.push_back(cpu_seconds() - start);
  }
  const auto median = [](std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  };
  fmt::print(
      "{{\"n\": {}, \"runs\": {}, \"cpu_seconds\": {:.5f}, \"cpu_seconds_with_curve_at_500\": {:.5f}, "
      "\"bandwidth\": "
      "{:.10g}, "
      "\"cv\": {:.12g}, \"scores\": {}, \"peak_mib\": {:.0f}}}\n",
      n, runs, median(seconds), median(seconds_with_curve), chosen.bandwidth[0], chosen.score,
      chosen.curve.size(), static_cast<double>(used().ru_maxrss) / 1024.0);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 2) throw UsageError("bench_bandwidth_choice", "no N, expected the number of points");
    run(std::stoul(argv[1]), argc > 2 ? std::stoul(argv[2]) : 1);
    return 0;
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(error.code());
  }
}
