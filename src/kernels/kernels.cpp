#include "src/kernels/kernels.hpp"

#if defined(HEADTORCH_HAS_SIMD)
#include <cpuid.h>
#endif

namespace headtorch::kernels {

#if defined(HEADTORCH_HAS_SIMD)
namespace avx2 {
extern const Kernels table;
}
namespace avx512 {
extern const Kernels table;
}
namespace avx512_bf16 {
extern const Products products;
}
namespace amx {
extern const Products products;
bool is_allowed();
}  // namespace amx

namespace {

bool has(InstructionSet set) {
  if (set == InstructionSet::kAvx2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("fma");
}

bool has_amx() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  constexpr unsigned kBfloat16 = 1u << 22, kTiles = 1u << 24;
  return (d & kBfloat16) != 0 && (d & kTiles) != 0 && amx::is_allowed();
}

}  // namespace

const Kernels* kernels_for(InstructionSet set) {
  if (!has(set)) return nullptr;
  return set == InstructionSet::kAvx2 ? &avx2::table : &avx512::table;
}

const Products* bfloat16_products_avx512() {
  return has(InstructionSet::kAvx512) && __builtin_cpu_supports("avx512bf16") ? &avx512_bf16::products
                                                                              : nullptr;
}

const Products* bfloat16_products_amx() {
  static const bool usable = bfloat16_products_avx512() != nullptr && has_amx();
  return usable ? &amx::products : nullptr;
}
#else
const Kernels* kernels_for(InstructionSet) { return nullptr; }
const Products* bfloat16_products_avx512() { return nullptr; }
const Products* bfloat16_products_amx() { return nullptr; }
#endif

const Kernels* kernels() {
  static const Kernels* const best = [] {
    const Kernels* widest = kernels_for(InstructionSet::kAvx512);
    return widest != nullptr ? widest : kernels_for(InstructionSet::kAvx2);
  }();
  return best;
}

const Products* bfloat16_products() {
  const Products* tiles = bfloat16_products_amx();
  return tiles != nullptr ? tiles : bfloat16_products_avx512();
}

std::size_t attention_scratch_bytes(const AttentionSizes& sizes) {
  // Room for the widest vectors: four copies of a head's tokens (one in panels), and two blocks of 32 rows of
  // weights.
  const std::int64_t features = (sizes.features + 15) / 16 * 16, tokens = (sizes.tokens + 31) / 32 * 32;
  return static_cast<std::size_t>(4 * tokens * features + 2 * 32 * sizes.weight_stride()) * sizeof(float);
}

}  // namespace headtorch::kernels
