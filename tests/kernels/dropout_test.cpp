#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/kernels/every_set.hpp"
#include "tests/kernels/numbers.hpp"

namespace headtorch::kernels::test {
namespace {

HEADTORCH_KERNEL_TESTS(DropoutOfEverySet);

using Bytes = Guarded<std::uint8_t>;

Bytes drawn(const Kernels& kernels, const DrawDropout& what) {
  Bytes bits((what.count + 7) / 8 + kDropoutSlack, 0x55);
  DrawDropout call = what;
  call.bits = bits.data();
  kernels.draw_dropout(call);
  return bits;
}

bool bit(const std::uint8_t* bits, std::int64_t e) { return (bits[e / 8] >> e % 8 & 1) != 0; }

/// Whether the bits are the decisions of src/core/philox.hpp.
::testing::AssertionResult are_those_of_the_mask(const DrawDropout& what, const std::uint8_t* bits) {
  std::vector<float> mask(static_cast<std::size_t>(what.count));
  fill_dropout_mask(mask, static_cast<double>(what.threshold) / 65536.0, what.key, what.stream, what.first);
  for (std::int64_t e = 0; e < what.count; ++e) {
    if (bit(bits, e) != (mask[static_cast<std::size_t>(e)] != 0.0F)) {
      return ::testing::AssertionFailure() << "element " << e << " of " << what.count << " from "
                                           << what.first << ", threshold " << what.threshold;
    }
  }
  return ::testing::AssertionSuccess();
}

TEST_P(DropoutOfEverySet, draws_what_the_mask_has_at_every_start_and_length) {
  Bytes room((300 + 7) / 8 + kDropoutSlack);
  for (std::uint64_t first = 0; first <= 130; ++first) {
    for (std::int64_t count = 1; count <= 300; ++count) {
      DrawDropout call = {.key = 77, .stream = 5, .first = first, .count = count, .threshold = 20000};
      call.bits = room.last((count + 7) / 8 + kDropoutSlack);
      kernels->draw_dropout(call);
      ASSERT_TRUE(are_those_of_the_mask(call, call.bits));
    }
  }
}

TEST_P(DropoutOfEverySet, draws_what_the_mask_has_for_large_keys_streams_and_starts) {
  Random random(51, 0);
  const std::uint64_t far = (std::uint64_t{1} << 35) - 200;  // the block number passes 2^32
  for (const std::uint64_t first : {far, far + 13, (std::uint64_t{1} << 60) + 1}) {
    for (const std::uint64_t stream : {std::uint64_t{0}, (std::uint64_t{7} << 32) + 1, ~std::uint64_t{0}}) {
      for (const std::uint64_t key : {std::uint64_t{0}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
        const DrawDropout call = {key, stream, first, 1000, 30000, nullptr};
        ASSERT_TRUE(are_those_of_the_mask(call, drawn(*kernels, call).data()));
      }
    }
  }
}

TEST_P(DropoutOfEverySet, every_threshold_from_keeping_all_to_dropping_all) {
  for (const std::uint32_t threshold : {0u, 1u, 6554u, 32767u, 32768u, 32769u, 65535u, 65536u}) {
    const DrawDropout call = {3, 4, 5, 20000, threshold, nullptr};
    EXPECT_TRUE(are_those_of_the_mask(call, drawn(*kernels, call).data()));
  }
}

TEST_P(DropoutOfEverySet, a_slice_draws_what_the_whole_draws) {
  const Bytes whole = drawn(*kernels, {1, 2, 0, 5000, 30000, nullptr});
  for (const std::uint64_t first : {1u, 63u, 64u, 129u, 1000u, 4097u}) {
    const Bytes slice = drawn(*kernels, {1, 2, first, 800, 30000, nullptr});
    for (std::int64_t e = 0; e < 800; ++e)
      ASSERT_EQ(bit(slice.data(), e), bit(whole.data(), static_cast<std::int64_t>(first) + e)) << first;
  }
}

/// +1 - p for what is dropped, -p for what is kept: mean 0.
std::vector<double> signs(const Bytes& bits, std::int64_t count, double p) {
  std::vector<double> out;
  for (std::int64_t e = 0; e < count; ++e) out.push_back(bit(bits.data(), e) ? -p : 1.0 - p);
  return out;
}

/// The correlation of a and b, b starting `lag` later, in standard errors of independent ones.
double standard_errors(const std::vector<double>& a, const std::vector<double>& b, std::size_t lag,
                       double p) {
  double sum = 0.0;
  for (std::size_t i = 0; i + lag < b.size(); ++i) sum += a[i] * b[i + lag];
  return sum / (p * (1.0 - p)) / std::sqrt(static_cast<double>(b.size() - lag));
}

constexpr std::int64_t kMany = 1 << 20;

TEST_P(DropoutOfEverySet, drops_the_share_asked_for) {
  for (const double p : {0.001, 0.1, 0.25, 0.5, 0.9}) {
    const double rounded = dropout_threshold(p) / 65536.0;
    const Bytes bits = drawn(*kernels, {9, 10, 0, kMany, dropout_threshold(p), nullptr});
    double dropped = 0.0;
    for (std::int64_t e = 0; e < kMany; ++e) dropped += bit(bits.data(), e) ? 0.0 : 1.0;
    const auto n = static_cast<double>(kMany);
    EXPECT_NEAR(dropped / n, rounded, 4.0 * std::sqrt(rounded * (1.0 - rounded) / n));
  }
}

TEST_P(DropoutOfEverySet, elements_and_streams_are_independent) {
  const double p = 0.25;
  const std::uint32_t threshold = dropout_threshold(p);
  const std::vector<double> own = signs(drawn(*kernels, {9, 10, 0, kMany, threshold, nullptr}), kMany, p);
  for (std::size_t lag = 1; lag <= 130; ++lag)
    EXPECT_LT(std::abs(standard_errors(own, own, lag, p)), 4.5) << "lag " << lag;
  const DrawDropout others[] = {{9, 11, 0, kMany, threshold, nullptr},
                                {10, 10, 0, kMany, threshold, nullptr},
                                {9, 10 + (std::uint64_t{1} << 32), 0, kMany, threshold, nullptr},
                                {9 + (std::uint64_t{1} << 32), 10, 0, kMany, threshold, nullptr},
                                {9, 10, kMany, kMany, threshold, nullptr}};
  for (const DrawDropout& other : others) {
    const std::vector<double> theirs = signs(drawn(*kernels, other), kMany, p);
    for (const std::size_t lag : {0u, 1u, 8u, 64u, 128u})
      EXPECT_LT(std::abs(standard_errors(own, theirs, lag, p)), 4.5)
          << "key " << other.key << " stream " << other.stream << " lag " << lag;
  }
}

TEST(Dropout, the_factor_keeps_the_mean) {
  for (const double p : {0.0, 0.1, 0.25, 0.5, 0.9}) {
    const std::uint32_t threshold = dropout_threshold(p);
    EXPECT_NEAR(threshold / 65536.0, p, 0.5 / 65536.0);
    EXPECT_NEAR(static_cast<double>(dropout_scale(threshold)) * (1.0 - threshold / 65536.0), 1.0, 1e-7);
  }
  EXPECT_EQ(dropout_threshold(1.0), 65536u);
  EXPECT_EQ(dropout_scale(65536), 0.0F);
}

}  // namespace
}  // namespace headtorch::kernels::test
