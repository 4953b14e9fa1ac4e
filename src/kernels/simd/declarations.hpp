#pragma once

#include "src/kernels/kernels.hpp"

// Every kernel of the instruction set that this is compiled for.

namespace headtorch::kernels::HEADTORCH_SET {

#define HEADTORCH_KERNEL(name, arguments) void name(const arguments&);
#include "src/kernels/kernels.def"
#undef HEADTORCH_KERNEL

extern const Products products;
extern const Kernels table;

}  // namespace headtorch::kernels::HEADTORCH_SET
