// How close do the products of a training step come to what the processor can do? Usage: bench_products
// [ROWS] ROWS: tokens that go through a layer at once, 128 unless given. Prints JSON: the most multiply-adds
// a second that vector registers allow, and for each product of the presets reference, text-small and middle
// (bench/README.md) its rate, forward (multiply) and of the weight's gradient (add_transposed), in float32
// and in bfloat16 where the processor has it. One thread, operands of as many layers as the model has, best
// of 9.

#include <fmt/format.h>
#include <immintrin.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string_view>
#include <vector>

#include "src/core/error.hpp"
#include "src/core/large_pages.hpp"
#include "src/kernels/kernels.hpp"

namespace {

using namespace headtorch;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kWhere = "bench_products";
constexpr int kTries = 9;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Billions of floating point operations a second of sums that never leave their registers.
__attribute__((target("avx512f"))) double peak_avx512() {
  constexpr int kSums = 16, kTurns = 1'000'000;
  double best = 0.0;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    __m512 sums[kSums];
    for (int i = 0; i < kSums; ++i) sums[i] = _mm512_set1_ps(1e-3F * static_cast<float>(i));
    const __m512 factor = _mm512_set1_ps(0.999F), term = _mm512_set1_ps(1e-4F);
    const Clock::time_point start = Clock::now();
    for (int turn = 0; turn < kTurns; ++turn) {
#pragma GCC unroll 16
      for (int i = 0; i < kSums; ++i) sums[i] = _mm512_fmadd_ps(sums[i], factor, term);
    }
    best = std::max(best, 2e-9 * 16 * kSums * kTurns / seconds_since(start));
    for (int i = 1; i < kSums; ++i) sums[0] = _mm512_add_ps(sums[0], sums[i]);
    volatile float used = _mm512_cvtss_f32(sums[0]);
    (void)used;
  }
  return best;
}

__attribute__((target("avx2,fma"))) double peak_avx2() {
  constexpr int kSums = 12, kTurns = 1'000'000;
  double best = 0.0;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    __m256 sums[kSums];
    for (int i = 0; i < kSums; ++i) sums[i] = _mm256_set1_ps(1e-3F * static_cast<float>(i));
    const __m256 factor = _mm256_set1_ps(0.999F), term = _mm256_set1_ps(1e-4F);
    const Clock::time_point start = Clock::now();
    for (int turn = 0; turn < kTurns; ++turn) {
#pragma GCC unroll 12
      for (int i = 0; i < kSums; ++i) sums[i] = _mm256_fmadd_ps(sums[i], factor, term);
    }
    best = std::max(best, 2e-9 * 8 * kSums * kTurns / seconds_since(start));
    for (int i = 1; i < kSums; ++i) sums[0] = _mm256_add_ps(sums[0], sums[i]);
    volatile float used = _mm256_cvtss_f32(sums[0]);
    (void)used;
  }
  return best;
}

struct Shape {
  std::string_view preset;
  std::int64_t layers, in, out;
};

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  const auto add = [&](std::string_view preset, std::int64_t layers, std::int64_t d, std::int64_t ff) {
    for (const auto& [in, out] : {std::pair{d, 3 * d}, {d, d}, {d, ff}, {ff, d}})
      all.push_back({preset, layers, in, out});
  };
  add("reference", 2, 64, 256);
  add("text-small", 4, 128, 512);
  add("middle", 4, 256, 1024);
  return all;
}

class Memory {
 public:
  float* floats(std::int64_t count) {
    return reinterpret_cast<float*>(bytes(static_cast<std::size_t>(count) * 4));
  }
  std::byte* bytes(std::size_t count) {
    blocks_.push_back(allocate_large_pages(count + 64));
    return blocks_.back().get();
  }
  float* random(std::int64_t count) {
    float* out = floats(count);
    std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
    std::generate_n(out, count, [&] { return uniform(generator_); });
    return out;
  }

 private:
  std::mt19937 generator_{1};
  std::vector<LargePages> blocks_;
};

struct Rates {
  double multiply = 0.0, add_transposed = 0.0;  // GFLOP/s
};

Rates measure(const kernels::Products& products, const Shape& shape, std::int64_t rows) {
  Memory memory;
  struct Layer {
    float *x, *y, *gradient;
    std::byte* packed;
  };
  std::vector<Layer> layers;
  for (std::int64_t i = 0; i < shape.layers; ++i) {
    const float* weight = memory.random(shape.out * shape.in);
    Layer layer{memory.random(rows * shape.in), memory.floats(rows * shape.out),
                memory.floats(shape.out * shape.in),
                memory.bytes(products.packed_bytes(shape.in, shape.out))};
    products.pack({shape.in, shape.out, weight, shape.in, true, layer.packed});
    layers.push_back(layer);
  }
  std::byte* scratch = memory.bytes(std::max(products.scratch_bytes(rows, shape.out, shape.in),
                                             products.scratch_bytes(shape.out, shape.in, rows)));
  const double gflop = 2e-9 * static_cast<double>(rows * shape.in * shape.out * shape.layers);
  const auto rate = [&](const auto& work) {
    double best = 0.0;
    for (int attempt = 0; attempt < kTries; ++attempt) {
      int rounds = 0;
      const Clock::time_point start = Clock::now();
      for (; seconds_since(start) < 0.02; ++rounds) {
        for (const Layer& layer : layers) work(layer);
      }
      best = std::max(best, gflop * rounds / seconds_since(start));
    }
    return best;
  };
  Rates rates;
  rates.multiply = rate([&](const Layer& layer) {
    products.multiply({.rows = rows,
                       .columns = shape.out,
                       .depth = shape.in,
                       .a = layer.x,
                       .a_stride = shape.in,
                       .packed_b = layer.packed,
                       .c = layer.y,
                       .c_stride = shape.out,
                       .scratch = scratch});
  });
  rates.add_transposed = rate([&](const Layer& layer) {
    products.add_transposed({.rows = shape.out,
                             .columns = shape.in,
                             .depth = rows,
                             .a = layer.y,
                             .a_stride = shape.out,
                             .b = layer.x,
                             .b_stride = shape.in,
                             .c = layer.gradient,
                             .c_stride = shape.in,
                             .scratch = scratch});
  });
  return rates;
}

std::int64_t read_rows(int argc, char** argv) {
  if (argc == 1) return 128;
  const std::string_view text = argv[1];
  std::int64_t rows = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rows);
  if (argc > 2 || error != std::errc{} || end != text.data() + text.size() || rows < 1 || rows > 65536)
    throw UsageError(kWhere, "expected one number of rows, 1 to 65536");
  return rows;
}

void print_all(std::int64_t rows) {
  const kernels::Kernels* own = kernels::kernels();
  if (own == nullptr)
    throw ConfigError(kWhere, "this processor has neither AVX2 nor AVX-512, expected one of them");
  const bool wide = kernels::kernels_for(kernels::InstructionSet::kAvx512) != nullptr;
  const double peak = wide ? peak_avx512() : peak_avx2();
  fmt::print(R"({{"rows": {}, "threads": 1, "instruction_set": "{}", "peak_gflop_s": {:.1f}, "products": [)",
             rows, own->name, peak);
  std::string_view separator = "\n";
  for (const kernels::Products* products : {own->products, kernels::bfloat16_products()}) {
    if (products == nullptr) continue;
    for (const Shape& shape : shapes()) {
      const Rates rates = measure(*products, shape, rows);
      fmt::print(R"({} {{"preset": "{}", "by": "{}", "in": {}, "out": {}, "multiply_gflop_s": {:.1f}, )"
                 R"("add_transposed_gflop_s": {:.1f}, "share_of_peak": {:.2f}}})",
                 separator, shape.preset, products->name, shape.in, shape.out, rates.multiply,
                 rates.add_transposed, 3.0 / (2.0 / rates.multiply + 1.0 / rates.add_transposed) / peak);
      separator = ",\n";
    }
  }
  fmt::print("\n]}}\n");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    print_all(read_rows(argc, argv));
    return 0;
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(error.code());
  }
}
