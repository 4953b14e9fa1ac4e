// How long do the statistics of all heads take, of a file of weights, and which part of them?
// Usage: bench_head_statistics [T], positions; 128 and 512 by default. 4 inputs (2 to fit, 2 to judge), 2
// layers of 4 heads, half of them softmax rows of random scores, half kernels with noise; full and causal
// masks. Prints one JSON document.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "headtorch_version.hpp"
#include "src/core/error.hpp"
#include "src/core/philox.hpp"
#include "src/probe/head_reader.hpp"
#include "src/probe/kernel_maps.hpp"
#include "src/probe/rollout.hpp"

namespace {

using namespace headtorch;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kHalf = 2, kRuns = 5, kSymbols = 32;  // inputs of each half; odd number of runs
constexpr std::array<std::string_view, 7> kParts{"fit",     "judge", "reports", "kernel_maps",
                                                 "rollout", "all",   "all_cpu"};
constexpr std::string_view kWhere = "bench_head_statistics";

/// What a head does, and the spread of the random scores that it is multiplied with.
struct HeadSource {
  HeadKernel kernel;
  double spread = 1.0;
};

std::array<std::array<HeadSource, 4>, 2> sources(std::int64_t tokens) {
  const auto gaussian = [](double slope, double offset, double bandwidth) {
    return HeadKernel{.family = KernelFamily::kGaussian,
                      .slope = slope,
                      .offset = offset,
                      .bandwidth = bandwidth,
                      .eps = 0.1};
  };
  const auto n = static_cast<double>(tokens);
  return {{{{{.kernel = {}, .spread = 2.0},
             {.kernel = {}, .spread = 8.0},
             {.kernel = gaussian(1.0, -1.0, 0.5)},
             {.kernel = gaussian(1.0, -n / 16.0, n / 8.0)}}},
           {{{.kernel = {}, .spread = 4.0},
             {.kernel = {.family = KernelFamily::kInduction, .eps = 0.2}},
             {.kernel = gaussian(-1.0, n - 1.0, 4.0)},
             {.kernel = {.family = KernelFamily::kKey, .eps = 0.4}}}}}};
}

AttentionMaps make_maps(std::int64_t tokens, bool causal, std::uint64_t seed) {
  Random random(seed, 0);
  AttentionMaps maps;
  maps.causal = causal;
  const Sight sight{.causal = causal, .length = tokens};
  for (std::int64_t sample = 0; sample < kHalf; ++sample) {
    maps.ids.emplace_back();
    for (std::int64_t i = 0; i < tokens; ++i) maps.ids.back().push_back(random.below(kSymbols));
  }
  for (const auto& heads : sources(tokens)) {
    LayerWeights layer{.samples = kHalf, .heads = 4, .queries = tokens, .keys = tokens, .values = {}};
    layer.layer = std::ssize(maps.layers);
    for (const std::vector<std::int64_t>& ids : maps.ids) {
      for (const HeadSource& head : heads) {
        for (std::int64_t query = 0; query < tokens; ++query) {
          std::vector<double> row = kernel_row(head.kernel, query, tokens, sight, ids);
          double sum = 0.0;
          for (double& weight : row) sum += weight *= std::exp(head.spread * random.uniform());
          for (const double weight : row) layer.values.push_back(static_cast<float>(weight / sum));
        }
      }
    }
    maps.layers.push_back(std::move(layer));
  }
  return maps;
}

using Seconds = std::array<double, kParts.size()>;

/// What verb `heads` calls for a file of weights, part by part.
Seconds measure(const AttentionMaps& fit, const AttentionMaps& judge) {
  Seconds seconds{};
  const Clock::time_point start = Clock::now();
  const std::clock_t cpu_start = std::clock();
  std::size_t part = 0;
  const auto timed = [&](const auto& work) {
    const Clock::time_point before = Clock::now();
    work();
    seconds[part++] = std::chrono::duration<double>(Clock::now() - before).count();
  };
  probe::HeadReader reader({});
  std::vector<probe::HeadReport> reports;
  timed([&] { reader.fit(fit); });
  timed([&] { reader.judge(judge); });
  timed([&] { reports = reader.reports(); });
  timed([&] { (void)probe::kernel_maps(fit, reports); });
  timed([&] { (void)probe::rollout(fit, 0); });
  seconds[part++] = std::chrono::duration<double>(Clock::now() - start).count();
  seconds[part] = static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC;
  return seconds;
}

std::string processor() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

std::vector<std::int64_t> lengths(int argc, char** argv) {
  if (argc == 1) return {128, 512};
  std::int64_t value = 0;
  const std::string_view text = argv[1];
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (argc > 2 || error != std::errc{} || end != text.data() + text.size() || value < 2)
    throw UsageError(kWhere, "expected one number >= 2");
  return {value};
}

void print_row(std::int64_t tokens, bool causal, bool first) {
  const AttentionMaps fit = make_maps(tokens, causal, 1), judge = make_maps(tokens, causal, 2);
  std::array<std::vector<double>, kParts.size()> seconds;
  for (std::int64_t run = 0; run < kRuns; ++run) {
    const Seconds one = measure(fit, judge);
    for (std::size_t part = 0; part < kParts.size(); ++part) seconds[part].push_back(one[part]);
  }
  fmt::print("{}\n  {{\"T\": {}, \"mask\": \"{}\"", first ? "" : ",", tokens, causal ? "causal" : "full");
  for (std::size_t part = 0; part < kParts.size(); ++part) {
    std::sort(seconds[part].begin(), seconds[part].end());
    fmt::print(",\n   \"{}\": {{\"median\": {:.4f}, \"min\": {:.4f}, \"max\": {:.4f}}}", kParts[part],
               seconds[part][kRuns / 2], seconds[part].front(), seconds[part].back());
  }
  fmt::print("}}");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<std::int64_t> all = lengths(argc, argv);
    fmt::print(
        R"({{"question": "seconds of the statistics of 8 heads on 4 inputs", "processor": "{}", "threads": {}, )"
        R"("build": "{}", "runs": {}, "rows": [)",
        processor(), std::thread::hardware_concurrency(), kBuildType, kRuns);
    for (const std::int64_t tokens : all) {
      for (const bool causal : {false, true}) print_row(tokens, causal, tokens == all.front() && !causal);
    }
    fmt::print("\n]}}\n");
    return 0;
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(error.code());
  }
}
