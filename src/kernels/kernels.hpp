#pragma once

#include "src/kernels/adamw.hpp"
#include "src/kernels/attention.hpp"
#include "src/kernels/dropout.hpp"
#include "src/kernels/elementwise.hpp"
#include "src/kernels/products.hpp"
#include "src/kernels/residual_norm.hpp"

namespace headtorch::kernels {

/// Instruction sets that kernels are compiled for.
enum class InstructionSet { kAvx2, kAvx512 };

/// What training a small Transformer spends its time on, for one instruction set. float32; no state, no
/// allocation, no threads: any number of threads may call them at once.
struct Kernels {
  const char* name;  ///< for people: "AVX-512"
#define HEADTORCH_KERNEL(name, arguments) void (*name)(const arguments&);
#include "src/kernels/kernels.def"
#undef HEADTORCH_KERNEL
  const Products* products;
};

/// Null where this processor (or this build: other than x86-64) has not got the set.
const Kernels* kernels_for(InstructionSet set);
/// The best that this processor has, chosen once; null: none.
const Kernels* kernels();

/// Products with operands rounded to bfloat16 and sums in float32: AMX where there is such, else AVX512-BF16;
/// null: neither.
const Products* bfloat16_products();
const Products* bfloat16_products_amx();
const Products* bfloat16_products_avx512();

}  // namespace headtorch::kernels
