// What does a generated token cost, with keys and values kept and without, against its position?
// Usage: bench_generation [LAST], positions double from 64 to LAST (2,048 by default). A causal model of 4
// layers, width 128, 4 heads, learned positions, float32; one example, greedy, one thread. Prints one JSON
// document; exits with 2 where the two ways give other tokens.

#include "models/generation.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "headtorch_version.hpp"
#include "src/core/error.hpp"

namespace {

using namespace headtorch;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kFirst = 64, kSymbols = 64, kCachedTokens = 32, kUncachedTokens = 8;
constexpr std::string_view kWhere = "bench_generation";

models::MiniTransformer make_model(std::int64_t context) {
  torch::manual_seed(1);
  models::ModelOptions options;
  options.family = models::Family::kCausal;
  options.n_layers = options.n_heads = 4;
  options.d_model = 128;
  options.d_ff = 512;
  models::MiniTransformer model(options, models::ModelSizes{kSymbols, kSymbols, context});
  model->eval();
  return model;
}

struct Measured {
  std::vector<std::int64_t> tokens;
  std::vector<double> ms;  // a token, ascending; without the first, which reads the prompt
};

Measured measure(models::MiniTransformer& model, std::int64_t position, models::Caching caching) {
  models::GenerationRequest request;
  request.max_new_tokens = caching == models::Caching::kNone ? kUncachedTokens : kCachedTokens;
  std::vector<std::int64_t> prompt;
  for (std::int64_t i = 0; i < position - kCachedTokens; ++i) prompt.push_back(i * i % kSymbols);
  request.prompts = {prompt};
  request.sampling.temperature = 0.0;
  request.caching = caching;
  std::vector<Clock::time_point> times;
  request.on_token = [&](std::int64_t, std::int64_t) { times.push_back(Clock::now()); };
  Measured result;
  result.tokens = models::generate(model, request)[0].tokens;
  for (std::size_t i = 1; i < times.size(); ++i)
    result.ms.push_back(std::chrono::duration<double, std::milli>(times[i] - times[i - 1]).count());
  std::sort(result.ms.begin(), result.ms.end());
  return result;
}

double median(const std::vector<double>& ascending) { return ascending[ascending.size() / 2]; }

std::string text(const Measured& m) {
  return fmt::format(R"({{"median": {:.3f}, "min": {:.3f}, "max": {:.3f}}})", median(m.ms), m.ms.front(),
                     m.ms.back());
}

std::string processor() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

std::int64_t last_position(int argc, char** argv) {
  std::int64_t value = 2048;
  if (argc == 1) return value;
  const std::string_view text = argv[1];
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (argc > 2 || error != std::errc{} || end != text.data() + text.size() || value < kFirst)
    throw UsageError(kWhere, fmt::format("expected one number >= {}", kFirst));
  return value;
}

bool run(std::int64_t last) {
  at::set_num_threads(1);
  models::MiniTransformer model = make_model(last);
  measure(model, kFirst, models::Caching::kKeyValues);  // loads what the first call loads
  fmt::print(
      R"({{"question": "ms a generated token against its position, with keys and values kept and without",)"
      R"( "processor": "{}", "torch": "{}", "threads": 1, "rows": [)",
      processor(), kLibTorchVersion);
  bool agree = true;
  for (std::int64_t position = kFirst; position <= last; position *= 2) {
    const Measured cached = measure(model, position, models::Caching::kKeyValues);
    const Measured uncached = measure(model, position, models::Caching::kNone);
    agree = agree && std::equal(uncached.tokens.begin(), uncached.tokens.end(), cached.tokens.begin());
    fmt::print("{}\n  {{\"position\": {}, \"cached\": {}, \"uncached\": {}, \"times_faster\": {:.1f}}}",
               position == kFirst ? "" : ",", position, text(cached), text(uncached),
               median(uncached.ms) / median(cached.ms));
    std::fflush(stdout);
  }
  fmt::print("\n], \"same_tokens\": {}}}\n", agree);
  return agree;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(last_position(argc, argv)) ? 0 : static_cast<int>(ExitCode::kCheckFailed);
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(error.code());
  }
}
