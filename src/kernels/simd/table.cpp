#include "src/kernels/simd/declarations.hpp"

namespace headtorch::kernels::HEADTORCH_SET {

const Kernels table = {
#if defined(__AVX512F__)
    "AVX-512",
#else
    "AVX2",
#endif
#define HEADTORCH_KERNEL(name, arguments) name,
#include "src/kernels/kernels.def"
#undef HEADTORCH_KERNEL
    &products,
};

}  // namespace headtorch::kernels::HEADTORCH_SET
