#pragma once

#include <cstddef>
#include <cstdint>

// Matrix products of small matrices. All matrices are row-major float32; a stride counts floats from a row to
// the next.

namespace headtorch::kernels {

/// Lays a right-hand side out as `multiply` reads it: once a step for a weight, since products read it many
/// times.
struct Pack {
  std::int64_t depth = 0, columns = 0;  ///< K, N
  const float* matrix = nullptr;        ///< B [K, N], or under `transposed` its transpose [N, K]
  std::int64_t stride = 0;
  bool transposed = false;
  void* packed = nullptr;  ///< packed_bytes(K, N), aligned to 64
};

/// C = bias + A B, or C += A B.
struct Multiply {
  std::int64_t rows = 0, columns = 0, depth = 0;  ///< M, N, K
  const float* a = nullptr;                       ///< [M, K]
  std::int64_t a_stride = 0;
  const void* packed_b = nullptr;  ///< from Pack
  const float* bias = nullptr;     ///< [N]; null: 0
  bool adds = false;               ///< to C; there is then no bias
  float* c = nullptr;              ///< [M, N]
  std::int64_t c_stride = 0;
  void* scratch = nullptr;  ///< scratch_bytes(M, N, K), aligned to 64
};

/// C += A^T B: the gradient of a weight from that of its output and its input, or the reverse.
struct AddTransposed {
  std::int64_t rows = 0, columns = 0, depth = 0;  ///< M, N, K
  const float* a = nullptr;                       ///< [K, M]
  std::int64_t a_stride = 0;
  const float* b = nullptr;  ///< [K, N]
  std::int64_t b_stride = 0;
  float* c = nullptr;  ///< [M, N]
  std::int64_t c_stride = 0;
  void* scratch = nullptr;  ///< scratch_bytes(M, N, K), aligned to 64
};

/// One way to multiply: the products of one precision on one instruction set.
struct Products {
  const char* name;  ///< for people: "AVX-512", "AMX bfloat16"
  std::size_t (*packed_bytes)(std::int64_t depth, std::int64_t columns);
  std::size_t (*scratch_bytes)(std::int64_t rows, std::int64_t columns, std::int64_t depth);
  void (*pack)(const Pack&);
  void (*multiply)(const Multiply&);
  void (*add_transposed)(const AddTransposed&);
};

}  // namespace headtorch::kernels
