// How much memory and time does attention take against its length? Usage: bench_attention_memory LONGEST
// Causal Gaussian attention with a learned bandwidth, for which LibTorch has no fused kernel: one example,
// one head, 64 features, float32, one thread, forward and backward. Lengths double from 1,024 to LONGEST
// (16,384 by default). Prints one JSON document; exits with 2 where ways that must agree do not.

#include <fmt/format.h>
#include <malloc.h>
#include <torch/torch.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>

#include "headtorch_version.hpp"
#include "src/attention/attend.hpp"
#include "src/attention/blocked.hpp"
#include "src/attention/scores.hpp"
#include "src/core/error.hpp"

namespace {

using namespace headtorch;
using torch::Tensor;

constexpr std::int64_t kFeatures = 64, kWindow = 256, kRowsAtOnce = 64;
constexpr std::string_view kWhere = "bench_attention_memory";

/// A line of /proc in MiB.
double mebibytes(const char* file, std::string_view key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(key)) return std::stod(line.substr(key.size() + 1)) / 1024.0;
  }
  throw InputMissing(kWhere, fmt::format("{} has no line {}", file, key));
}

/// Makes the peak that the kernel keeps start again from what is held now.
void reset_peak() {
  malloc_trim(0);
  std::ofstream out("/proc/self/clear_refs");
  if (!(out << "5" << std::flush))
    throw InputOutputError(kWhere, "cannot reset VmHWM by /proc/self/clear_refs");
}

struct Inputs {
  Tensor q, k, v, bandwidth_H, grad_y;
};

Inputs make_inputs(std::int64_t length) {
  torch::manual_seed(1);
  const auto random = [&] { return torch::randn({1, 1, length, kFeatures}); };
  return {random().requires_grad_(), random().requires_grad_(), random().requires_grad_(),
          torch::full({1}, 4.0).requires_grad_(), random()};
}

struct Measured {
  std::vector<Tensor> outputs;  // y and the gradients of q, k, v and the bandwidth
  double peak_mib = 0.0, seconds = 0.0;
};

attention::AttendPiece piece_of(const Inputs& in, const attention::Mask& mask) {
  return [&in, mask](const attention::Piece& piece, const Tensor& q, const Tensor& k, const Tensor& v) {
    return attention::attend_explicit(attention::gaussian_by_dot_scores(q, k, in.bandwidth_H), v,
                                      attention::resolve(mask, piece, torch::kCPU))
        .y;
  };
}

enum class Way { kExplicit, kBlocked };

Measured measure(const Inputs& in, const attention::Mask& mask, Way way) {
  reset_peak();
  const double before = mebibytes("/proc/self/status", "VmRSS:");
  const auto start = std::chrono::steady_clock::now();
  const attention::AttendPiece attend = piece_of(in, mask);
  const Tensor y = way == Way::kExplicit
                       ? attend(attention::whole(in.q.size(2), in.k.size(2)), in.q, in.k, in.v)
                       : attention::attend_blocked(attend, {.q = in.q,
                                                            .k = in.k,
                                                            .v = in.v,
                                                            .visibility = mask.visibility,
                                                            .window = mask.window,
                                                            .captured = {in.bandwidth_H},
                                                            .rows_at_once = kRowsAtOnce});
  Measured result{{y.detach()}};
  for (const Tensor& gradient : torch::autograd::grad({y}, {in.q, in.k, in.v, in.bandwidth_H}, {in.grad_y})) {
    result.outputs.push_back(gradient);
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  result.peak_mib = mebibytes("/proc/self/status", "VmHWM:") - before;
  return result;
}

/// Largest difference of two ways, relative to the largest value of each output.
double apart(const Measured& a, const Measured& b) {
  double largest = 0.0;
  for (std::size_t i = 0; i < a.outputs.size(); ++i) {
    const double scale = std::max(1.0, a.outputs[i].abs().max().item<double>());
    largest = std::max(largest, (a.outputs[i] - b.outputs[i]).abs().max().item<double>() / scale);
  }
  return largest;
}

std::string text(const Measured& m) {
  return fmt::format(R"({{"peak_mib": {:.1f}, "seconds": {:.3f}}})", m.peak_mib, m.seconds);
}

/// One row of the table, and whether all ways agree.
struct Row {
  std::string text;
  bool agree = true;
};

Row row(std::int64_t length) {
  const Inputs in = make_inputs(length);
  const attention::Mask causal{attention::Visibility::kCausal, {}};
  const attention::Mask window{attention::Visibility::kCausal, {}, kWindow};
  const Measured blocked = measure(in, causal, Way::kBlocked), windowed = measure(in, window, Way::kBlocked);
  // About six matrices [T, T] of float32 live at once.
  const double needed = 6.0 * 4.0 * static_cast<double>(length * length) / (1 << 20);
  std::string quadratic = R"(null, "why": "too little memory")", difference = "null";
  bool agree = true;
  if (needed < 0.8 * mebibytes("/proc/meminfo", "MemAvailable:")) {
    double largest = 0.0;
    {
      const Measured whole = measure(in, causal, Way::kExplicit);
      quadratic = text(whole);
      largest = apart(whole, blocked);
    }
    largest = std::max(largest, apart(measure(in, window, Way::kExplicit), windowed));
    difference = fmt::format("{:.2e}", largest);
    agree = largest <= 1e-5;
  }
  return {
      fmt::format(
          R"({{"tokens": {}, "blocked": {}, "blocked_window": {}, "explicit": {}, "largest_difference": {}}})",
          length, text(blocked), text(windowed), quadratic, difference),
      agree};
}

std::int64_t longest(int argc, char** argv) {
  std::int64_t value = 16384;
  if (argc == 1) return value;
  const std::string_view text = argv[1];
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (argc > 2 || error != std::errc{} || end != text.data() + text.size() || value < 1024) {
    throw UsageError(kWhere, "expected one number >= 1024");
  }
  return value;
}

bool run(std::int64_t last) {
  mallopt(M_MMAP_THRESHOLD, 1 << 18);  // or freed matrices would stay with the process and hide a peak
  at::set_num_threads(1);
  measure(make_inputs(256), {}, Way::kExplicit);  // loads what the first call loads
  bool agree = true;
  fmt::print(
      R"({{"question": "peak memory and time of attention, forward and backward", "torch": "{}", "threads": 1,)"
      R"( "features": {}, "window": {}, "rows_at_once": {}, "rows": [)",
      kLibTorchVersion, kFeatures, kWindow, kRowsAtOnce);
  for (std::int64_t length = 1024; length <= last; length *= 2) {
    const Row next = row(length);
    fmt::print("{}\n  {}", length == 1024 ? "" : ",", next.text);
    std::fflush(stdout);
    agree = agree && next.agree;
  }
  fmt::print("\n], \"agree\": {}}}\n", agree);
  return agree;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(longest(argc, argv)) ? 0 : static_cast<int>(ExitCode::kCheckFailed);
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(error.code());
  }
}
