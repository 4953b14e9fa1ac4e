#pragma once

#include <algorithm>
#include <ostream>
#include <vector>

#include "src/core/philox.hpp"
#include "src/kernels/products.hpp"
#include "tests/kernels/numbers.hpp"

// Matrices with gaps between their rows and nothing readable behind the last, and products of them.

namespace headtorch::kernels::test {

inline constexpr float kUntouched = 12345.0F;

/// Rows with `stride - columns` floats between them, and none behind the last.
struct Matrix {
  Matrix(std::int64_t n_rows, std::int64_t n_columns, std::int64_t its_stride, Random* random)
      : rows(n_rows),
        columns(n_columns),
        stride(its_stride),
        values((n_rows - 1) * its_stride + n_columns, kUntouched) {
    for (std::int64_t i = 0; random != nullptr && i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) at(i, j) = static_cast<float>(2.0 * random->uniform() - 1.0);
    }
  }

  float& at(std::int64_t i, std::int64_t j) { return values[i * stride + j]; }
  float at(std::int64_t i, std::int64_t j) const { return values[i * stride + j]; }

  /// What lies between the rows is as it was.
  bool gaps_are_untouched() const {
    for (std::int64_t i = 0; i + 1 < rows; ++i) {
      for (std::int64_t j = columns; j < stride; ++j) {
        if (at(i, j) != kUntouched) return false;
      }
    }
    return true;
  }

  std::int64_t rows, columns, stride;
  Floats values;
};

inline Matrix transpose_of(const Matrix& matrix, std::int64_t stride) {
  Matrix out(matrix.columns, matrix.rows, stride, nullptr);
  for (std::int64_t i = 0; i < matrix.rows; ++i) {
    for (std::int64_t j = 0; j < matrix.columns; ++j) out.at(j, i) = matrix.at(i, j);
  }
  return out;
}

struct Sizes {
  std::int64_t rows, columns, depth;
};

inline std::ostream& operator<<(std::ostream& out, const Sizes& sizes) {
  return out << sizes.rows << " x " << sizes.columns << ", depth " << sizes.depth;
}

/// Shapes of a model, every width and height around a tile's, and random ones.
inline std::vector<Sizes> all_sizes() {
  std::vector<Sizes> out = {{128, 192, 64}, {64, 1024, 256}, {33, 65, 513}, {1, 1, 1},
                            {9, 31, 128},   {16, 33, 129},   {8, 32, 256},  {7, 16, 257}};
  for (std::int64_t n = 1; n <= 40; ++n) {
    out.push_back({n, 3, 5});
    out.push_back({3, n, 5});
    out.push_back({3, 5, n});
  }
  Random random(1, 0);
  for (int i = 0; i < 120; ++i)
    out.push_back({between(random, 1, 20), between(random, 1, 70), between(random, 1, 300)});
  return out;
}

inline Guarded<char> packed(const Products& products, const Matrix& b) {
  Guarded<char> out = aligned_bytes(products.packed_bytes(b.rows, b.columns));
  products.pack({.depth = b.rows,
                 .columns = b.columns,
                 .matrix = b.values.data(),
                 .stride = b.stride,
                 .packed = out.data()});
  return out;
}

inline Guarded<char> packed_from_transposed(const Products& products, const Matrix& b, std::int64_t gap) {
  const Matrix source = transpose_of(b, b.rows + gap);
  Guarded<char> out = aligned_bytes(products.packed_bytes(b.rows, b.columns));
  products.pack({.depth = b.rows,
                 .columns = b.columns,
                 .matrix = source.values.data(),
                 .stride = source.stride,
                 .transposed = true,
                 .packed = out.data()});
  return out;
}

inline void multiply(const Products& products, const Matrix& a, const void* packed_b, const float* bias,
                     bool adds, Matrix& c) {
  Guarded<char> scratch = aligned_bytes(products.scratch_bytes(c.rows, c.columns, a.columns));
  products.multiply({.rows = c.rows,
                     .columns = c.columns,
                     .depth = a.columns,
                     .a = a.values.data(),
                     .a_stride = a.stride,
                     .packed_b = packed_b,
                     .bias = bias,
                     .adds = adds,
                     .c = c.values.data(),
                     .c_stride = c.stride,
                     .scratch = scratch.data()});
}

inline void add_transposed(const Products& products, const Matrix& a, const Matrix& b, Matrix& c) {
  Guarded<char> scratch = aligned_bytes(products.scratch_bytes(c.rows, c.columns, a.rows));
  products.add_transposed({.rows = c.rows,
                           .columns = c.columns,
                           .depth = a.rows,
                           .a = a.values.data(),
                           .a_stride = a.stride,
                           .b = b.values.data(),
                           .b_stride = b.stride,
                           .c = c.values.data(),
                           .c_stride = c.stride,
                           .scratch = scratch.data()});
}

}  // namespace headtorch::kernels::test
