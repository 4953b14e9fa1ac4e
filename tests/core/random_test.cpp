#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include "src/core/philox.hpp"

namespace headtorch {
namespace {

using Words = std::array<std::uint32_t, 4>;

// Known answers of philox4x32 with 10 rounds, published with Random123 (file kat_vectors).
TEST(Philox, known_answers_of_random123) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, 0xffffffffffffffff),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, draws_are_the_words_of_philox_in_order) {
  Random random(0x299f31d0a4093822, 0, 0);
  for (std::uint32_t block = 0; block < 3; ++block) {
    for (const std::uint32_t word : philox4x32({block, 0, 0, 0}, 0x299f31d0a4093822))
      EXPECT_EQ(random.word(), word);
  }
}

TEST(Random, seed_stream_and_substream_each_give_other_numbers) {
  std::set<std::uint32_t> first;
  for (const std::uint64_t seed : {0ull, 1ull, 1ull << 32}) {
    for (const std::uint64_t stream : {0ull, 1ull, 1ull << 32}) {
      for (const std::uint64_t substream : {0ull, 1ull}) first.insert(Random(seed, stream, substream).word());
    }
  }
  EXPECT_EQ(first.size(), 18);
  EXPECT_EQ(Random(5, 6, 7).word(), Random(5, 6, 7).word());
}

TEST(Random, below_stays_in_range_and_is_even) {
  Random random(1, 2);
  for (const std::int64_t n : {1, 2, 3, 10, 97}) {
    std::vector<double> counts(static_cast<std::size_t>(n), 0.0);
    const double expected = 20000.0 / static_cast<double>(n);
    for (int i = 0; i < 20000; ++i) {
      const std::int64_t value = random.below(n);
      ASSERT_GE(value, 0);
      ASSERT_LT(value, n);
      ++counts[static_cast<std::size_t>(value)];
    }
    double chi_squared = 0.0;
    for (const double count : counts) chi_squared += (count - expected) * (count - expected) / expected;
    const double degrees = static_cast<double>(n - 1);
    EXPECT_LE(chi_squared, degrees + 5.0 * std::sqrt(2.0 * degrees)) << n;  // five standard deviations
  }
}

TEST(Random, below_has_no_bias_where_the_range_does_not_divide) {
  // 2^63 = 1.5 n: without rejection the lower half of the range would be drawn twice as often.
  const std::int64_t n = (std::int64_t{1} << 62) / 3 * 4;
  Random random(3, 4);
  int low = 0;
  for (int i = 0; i < 20000; ++i) low += random.below(n) < n / 2;
  EXPECT_NEAR(low, 10000, 5 * 71);
  EXPECT_GE(random.below(std::numeric_limits<std::int64_t>::max()), 0);
}

TEST(Random, uniform_lies_in_0_to_1_with_the_right_moments) {
  Random random(1, 0);
  double sum = 0.0, squares = 0.0;
  for (int i = 0; i < 100000; ++i) {
    const double u = random.uniform();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
    squares += u * u;
  }
  EXPECT_NEAR(sum / 1e5, 0.5, 5 * 0.2887 / std::sqrt(1e5));
  EXPECT_NEAR(squares / 1e5, 1.0 / 3.0, 5 * 0.2981 / std::sqrt(1e5));
}

TEST(Random, shuffle_gives_every_order_equally_often) {
  std::vector<int> counts(27, 0);
  for (std::uint64_t i = 0; i < 6000; ++i) {
    std::vector<std::int64_t> values = {0, 1, 2};
    Random(9, i).shuffle(values);
    ++counts[static_cast<std::size_t>(values[0] * 9 + values[1] * 3 + values[2])];
  }
  EXPECT_EQ(std::count_if(counts.begin(), counts.end(), [](int n) { return n > 0; }), 6);
  for (const int count : counts) {
    if (count > 0) {
      EXPECT_NEAR(count, 1000, 5 * 29);
    }
  }
  std::vector<std::int64_t> none;
  Random(1, 1).shuffle(none);
}

/// The definition in the header, element by element.
std::vector<float> plain_mask(std::size_t size, double p, std::uint64_t key, std::uint64_t stream,
                              std::uint64_t first) {
  const auto threshold = static_cast<std::uint32_t>(std::lround(p * 65536.0));
  std::vector<float> mask(size);
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint64_t element = first + i, block = element / 8;
    const Words words =
        philox4x32({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                    static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)},
                   key);
    const std::uint32_t bits = words[element % 8 / 2] >> (element % 2 * 16) & 0xffff;
    mask[i] = bits < threshold ? 0.0F : static_cast<float>(65536.0 / (65536.0 - threshold));
  }
  return mask;
}

std::vector<float> mask(std::size_t size, double p, std::uint64_t key, std::uint64_t stream,
                        std::uint64_t first) {
  std::vector<float> out(size, -1.0F);
  fill_dropout_mask(out, p, key, stream, first);
  return out;
}

TEST(DropoutMask, is_its_definition_at_every_start_and_length) {
  for (std::uint64_t first = 0; first < 300; first += 1) {
    for (const std::size_t size : {0u, 1u, 7u, 128u, 129u, 400u}) {
      ASSERT_EQ(mask(size, 0.1, 77, 5, first), plain_mask(size, 0.1, 77, 5, first)) << first << " " << size;
    }
  }
  const std::uint64_t far = (std::uint64_t{1} << 35) - 200, stream = (std::uint64_t{7} << 32) + 1,
                      key = ~std::uint64_t{0};
  EXPECT_EQ(mask(1000, 0.3, key, stream, far),
            plain_mask(1000, 0.3, key, stream, far));  // the block number passes 2^32
}

TEST(DropoutMask, a_slice_draws_what_the_whole_draws) {
  const std::vector<float> whole = mask(5000, 0.5, 1, 2, 0);
  for (const std::size_t first : {1u, 64u, 129u, 1000u, 4097u}) {
    const std::vector<float> slice = mask(800, 0.5, 1, 2, first);
    EXPECT_TRUE(std::equal(slice.begin(), slice.end(), whole.begin() + static_cast<std::ptrdiff_t>(first)));
  }
}

TEST(DropoutMask, keeps_the_mean_and_drops_the_share_asked_for) {
  const std::size_t n = 1 << 18;
  for (const double p : {0.1, 0.25, 0.5, 0.9}) {
    const std::vector<float> values = mask(n, p, 3, 4, 0);
    const double dropped =
        static_cast<double>(std::count(values.begin(), values.end(), 0.0F)) / static_cast<double>(n);
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(n);
    const double deviation = std::sqrt(p * (1.0 - p) / static_cast<double>(n));
    EXPECT_NEAR(dropped, p, 5 * deviation + 1.0 / 131072);  // p is rounded to 1/65536
    EXPECT_NEAR(mean, 1.0, 5 * deviation / (1.0 - p));
    const double rounding = 1.0 / 131072 / ((1.0 - p) * (1.0 - p)) + 1e-6;
    for (const float value : values) {
      ASSERT_TRUE(value == 0.0F || std::abs(value - 1.0 / (1.0 - p)) < rounding);
    }
  }
}

TEST(DropoutMask, edges_of_p) {
  EXPECT_THAT(mask(500, 0.0, 1, 1, 3), ::testing::Each(1.0F));
  EXPECT_THAT(mask(500, 1.0, 1, 1, 3), ::testing::Each(0.0F));
  for (const float value : mask(100000, 65535.0 / 65536.0, 1, 1, 0))
    ASSERT_TRUE(value == 0.0F || value == 65536.0F);
  for (const float value : mask(1000, 1.0 - 1e-9, 1, 1, 0)) ASSERT_EQ(value, 0.0F);
}

TEST(DropoutMask, keys_and_streams_are_independent) {
  const std::vector<float> a = mask(1 << 16, 0.5, 1, 1, 0);
  for (const auto& b : {mask(1 << 16, 0.5, 2, 1, 0), mask(1 << 16, 0.5, 1, 2, 0)}) {
    int same = 0;
    for (std::size_t i = 0; i < a.size(); ++i) same += a[i] == b[i];
    EXPECT_NEAR(same, 1 << 15, 5 * 128);
  }
}

}  // namespace
}  // namespace headtorch
