#include <gtest/gtest.h>

#include <array>
#include <utility>
#include <vector>

#include "tests/kernels/every_set.hpp"
#include "tests/kernels/matrices.hpp"
#include "tests/kernels/numbers.hpp"

namespace headtorch::kernels::test {
namespace {

HEADTORCH_KERNEL_TESTS(ProductsOfEverySet);

TEST_P(ProductsOfEverySet, multiply_is_its_definition) {
  const Products& products = *kernels->products;
  Random random(2, 0);
  for (const Sizes& sizes : all_sizes()) {
    SCOPED_TRACE(::testing::Message() << sizes);
    const std::int64_t gap = between(random, 0, 20);
    const Matrix a(sizes.rows, sizes.depth, sizes.depth + gap, &random);
    const Matrix b(sizes.depth, sizes.columns, sizes.columns + gap, &random);
    const Floats bias = random_floats(random, sizes.columns);
    const Matrix before(sizes.rows, sizes.columns, sizes.columns + gap, &random);
    const Guarded<char> straight = packed(products, b), turned = packed_from_transposed(products, b, gap);
    Matrix with_bias(sizes.rows, sizes.columns, before.stride, nullptr),
        without(sizes.rows, sizes.columns, before.stride, nullptr),
        added(sizes.rows, sizes.columns, before.stride, nullptr);
    std::copy(before.values.begin(), before.values.end(), added.values.begin());
    multiply(products, a, straight.data(), bias.data(), false, with_bias);
    multiply(products, a, turned.data(), nullptr, false, without);
    multiply(products, a, turned.data(), nullptr, true, added);
    for (std::int64_t i = 0; i < sizes.rows; ++i) {
      for (std::int64_t j = 0; j < sizes.columns; ++j) {
        Sum sum;
        for (std::int64_t k = 0; k < sizes.depth; ++k)
          sum.add(static_cast<double>(a.at(i, k)) * static_cast<double>(b.at(k, j)));
        Sum biased = sum, total = sum;
        biased.add(static_cast<double>(bias[j]));
        total.add(static_cast<double>(before.at(i, j)));
        ASSERT_TRUE(close(without.at(i, j), sum)) << i << ' ' << j;
        ASSERT_TRUE(close(with_bias.at(i, j), biased)) << i << ' ' << j;
        ASSERT_TRUE(close(added.at(i, j), total)) << i << ' ' << j;
      }
    }
    ASSERT_TRUE(with_bias.gaps_are_untouched() && without.gaps_are_untouched() && added.gaps_are_untouched());
  }
}

TEST_P(ProductsOfEverySet, add_transposed_is_its_definition) {
  Random random(3, 0);
  std::vector<Sizes> cases = all_sizes();
  for (const Sizes& sizes : cases) {
    SCOPED_TRACE(::testing::Message() << sizes);
    // Every fourth time rows lie so far apart that they would fall on few sets of the cache.
    const std::int64_t gap = random.below(4) == 0 ? 512 : between(random, 0, 20);
    const Matrix a(sizes.depth, sizes.rows, sizes.rows + gap, &random);
    const Matrix b(sizes.depth, sizes.columns, sizes.columns + gap, &random);
    const Matrix before(sizes.rows, sizes.columns, sizes.columns + gap, &random);
    Matrix c(sizes.rows, sizes.columns, before.stride, nullptr);
    std::copy(before.values.begin(), before.values.end(), c.values.begin());
    add_transposed(*kernels->products, a, b, c);
    for (std::int64_t i = 0; i < sizes.rows; ++i) {
      for (std::int64_t j = 0; j < sizes.columns; ++j) {
        Sum sum;
        sum.add(static_cast<double>(before.at(i, j)));
        for (std::int64_t k = 0; k < sizes.depth; ++k)
          sum.add(static_cast<double>(a.at(k, i)) * static_cast<double>(b.at(k, j)));
        ASSERT_TRUE(close(c.at(i, j), sum)) << i << ' ' << j;
      }
    }
    ASSERT_TRUE(c.gaps_are_untouched());
  }
}

TEST_P(ProductsOfEverySet, a_matrix_packs_as_its_transpose_does) {
  Random random(4, 0);
  for (const Sizes& sizes : all_sizes()) {
    const Matrix b(sizes.depth, sizes.columns, sizes.columns + 3, &random);
    const Guarded<char> straight = packed(*kernels->products, b),
                        turned = packed_from_transposed(*kernels->products, b, 2);
    ASSERT_TRUE(std::equal(straight.begin(), straight.end(), turned.begin())) << sizes;
  }
}

TEST_P(ProductsOfEverySet, multiply_agrees_with_add_transposed) {
  Random random(5, 0);
  for (const Sizes& sizes : all_sizes()) {
    const Matrix a(sizes.rows, sizes.depth, sizes.depth, &random);
    const Matrix b(sizes.depth, sizes.columns, sizes.columns, &random);
    Matrix product(sizes.rows, sizes.columns, sizes.columns, nullptr);
    multiply(*kernels->products, a, packed(*kernels->products, b).data(), nullptr, false, product);
    Matrix sum(sizes.rows, sizes.columns, sizes.columns, nullptr);
    std::fill(sum.values.begin(), sum.values.end(), 0.0F);
    add_transposed(*kernels->products, transpose_of(a, a.rows), b, sum);
    for (std::int64_t i = 0; i < product.values.size(); ++i) {
      const auto expected = static_cast<double>(product.values[i]);
      ASSERT_TRUE(close(sum.values[i], {expected, static_cast<double>(sizes.depth)})) << sizes;
    }
  }
}

TEST_P(ProductsOfEverySet, NaN_stays_in_its_row_and_column) {
  Random random(6, 0);
  const std::int64_t rows = 11, columns = 37, depth = 21;
  const auto marked = [&](const Matrix& c, std::int64_t i, std::int64_t j) { return std::isnan(c.at(i, j)); };
  for (std::int64_t bad = 0; bad < columns; ++bad) {
    Matrix a(rows, depth, depth, &random), b(depth, columns, columns, &random);
    const std::int64_t bad_row = bad % rows;
    a.at(bad_row, bad % depth) = kNaN;
    b.at(bad % depth, bad) = kNaN;
    Matrix c(rows, columns, columns, nullptr), sum(rows, columns, columns, &random);
    multiply(*kernels->products, a, packed(*kernels->products, b).data(), nullptr, false, c);
    add_transposed(*kernels->products, transpose_of(a, rows), b, sum);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        ASSERT_EQ(marked(c, i, j), i == bad_row || j == bad);
        ASSERT_EQ(marked(sum, i, j), i == bad_row || j == bad);
      }
    }
  }
}

TEST(Kernels, the_best_set_is_the_widest_that_the_processor_has) {
  const Kernels* const widest = kernels_for(InstructionSet::kAvx512);
  EXPECT_EQ(kernels(), widest != nullptr ? widest : kernels_for(InstructionSet::kAvx2));
  if (widest != nullptr) {
    EXPECT_STREQ(widest->name, "AVX-512");
    EXPECT_STREQ(widest->products->name, "AVX-512");
  }
  if (const Kernels* narrow = kernels_for(InstructionSet::kAvx2); narrow != nullptr) {
    EXPECT_STREQ(narrow->name, "AVX2");
    EXPECT_STREQ(narrow->products->name, "AVX2");
  }
}

}  // namespace
}  // namespace headtorch::kernels::test
