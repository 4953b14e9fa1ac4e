#include <gtest/gtest.h>

#include <cmath>

#include "src/kernels/kernels.hpp"
#include "tests/kernels/matrices.hpp"

namespace headtorch::kernels::test {
namespace {

/// Whole numbers up to 16 are exact in bfloat16, and so are their sums in float32.
void make_whole(Matrix& matrix) {
  for (std::int64_t i = 0; i < matrix.rows; ++i) {
    for (std::int64_t j = 0; j < matrix.columns; ++j) matrix.at(i, j) = std::round(16.0F * matrix.at(i, j));
  }
}

Matrix whole(std::int64_t rows, std::int64_t columns, std::int64_t gap, Random& random) {
  Matrix matrix(rows, columns, columns + gap, &random);
  make_whole(matrix);
  return matrix;
}

struct Way {
  const char* name;
  const Products* (*products)();
};

class Bfloat16Products : public ::testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    products = GetParam().products();
    if (products == nullptr) GTEST_SKIP() << "this processor lacks " << GetParam().name;
  }

  const Products* products = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Kernels, Bfloat16Products,
                         ::testing::Values(Way{"AVX512BF16", bfloat16_products_avx512},
                                           Way{"AMX", bfloat16_products_amx}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(Bfloat16Products, Whole_numbers_multiply_exactly) {
  Random random(5, 0);
  for (const Sizes& sizes : all_sizes()) {
    SCOPED_TRACE(::testing::Message() << sizes);
    const std::int64_t gap = between(random, 0, 20);
    const Matrix a = whole(sizes.rows, sizes.depth, gap, random),
                 b = whole(sizes.depth, sizes.columns, gap, random),
                 bias = whole(1, sizes.columns, 0, random),
                 before = whole(sizes.rows, sizes.columns, gap, random);
    const Guarded<char> straight = packed(*products, b), turned = packed_from_transposed(*products, b, gap);
    Matrix with_bias(sizes.rows, sizes.columns, before.stride, nullptr),
        added(sizes.rows, sizes.columns, before.stride, nullptr);
    std::copy(before.values.begin(), before.values.end(), added.values.begin());
    multiply(*products, a, straight.data(), bias.values.data(), false, with_bias);
    multiply(*products, a, turned.data(), nullptr, true, added);
    for (std::int64_t i = 0; i < sizes.rows; ++i) {
      for (std::int64_t j = 0; j < sizes.columns; ++j) {
        float sum = 0.0F;
        for (std::int64_t k = 0; k < sizes.depth; ++k) sum += a.at(i, k) * b.at(k, j);
        ASSERT_EQ(with_bias.at(i, j), bias.at(0, j) + sum) << i << ' ' << j;
        ASSERT_EQ(added.at(i, j), before.at(i, j) + sum) << i << ' ' << j;
      }
    }
    ASSERT_TRUE(with_bias.gaps_are_untouched() && added.gaps_are_untouched());
  }
}

TEST_P(Bfloat16Products, Whole_numbers_add_transposed_exactly) {
  Random random(6, 0);
  for (const Sizes& sizes : all_sizes()) {
    SCOPED_TRACE(::testing::Message() << sizes);
    const std::int64_t gap = between(random, 0, 20);
    const Matrix a = whole(sizes.depth, sizes.rows, gap, random),
                 b = whole(sizes.depth, sizes.columns, gap, random),
                 before = whole(sizes.rows, sizes.columns, gap, random);
    Matrix c(sizes.rows, sizes.columns, before.stride, nullptr);
    std::copy(before.values.begin(), before.values.end(), c.values.begin());
    add_transposed(*products, a, b, c);
    for (std::int64_t i = 0; i < sizes.rows; ++i) {
      for (std::int64_t j = 0; j < sizes.columns; ++j) {
        float sum = before.at(i, j);
        for (std::int64_t k = 0; k < sizes.depth; ++k) sum += a.at(k, i) * b.at(k, j);
        ASSERT_EQ(c.at(i, j), sum) << i << ' ' << j;
      }
    }
    ASSERT_TRUE(c.gaps_are_untouched());
  }
}

TEST_P(Bfloat16Products, Operands_are_rounded_to_nearest) {
  Random random(7, 0);
  const Matrix a(5, 40, 40, &random), b(40, 9, 9, &random);
  Matrix c(5, 9, 9, nullptr);
  multiply(*products, a, packed(*products, b).data(), nullptr, false, c);
  const auto rounded = [](float x) {  // 8 bits of a float's 24
    const float shifted = x * 65537.0F;
    return static_cast<double>(shifted - (shifted - x));
  };
  for (std::int64_t i = 0; i < 5; ++i) {
    for (std::int64_t j = 0; j < 9; ++j) {
      double sum = 0.0, size = 0.0;
      for (std::int64_t k = 0; k < 40; ++k) {
        const double product = rounded(a.at(i, k)) * rounded(b.at(k, j));
        sum += product;
        size += std::abs(product);
      }
      EXPECT_NEAR(c.at(i, j), sum, 1e-6 * size);
    }
  }
}

}  // namespace
}  // namespace headtorch::kernels::test
