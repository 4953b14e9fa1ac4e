#include "src/core/head_kernel.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/support/errors.hpp"

namespace headtorch {
namespace {

using ::testing::AllOf;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

constexpr double kExact = 1e-12;

const std::vector<HeadKernel> kOneOfEach{
    {.family = KernelFamily::kUniform},
    {.family = KernelFamily::kKey, .key = 2, .eps = 0.1},
    {.family = KernelFamily::kGaussian, .slope = 1.0, .offset = -1.25, .bandwidth = 0.7, .eps = 0.3},
    {.family = KernelFamily::kGaussian, .slope = -1.0, .offset = 4.0, .bandwidth = 1e-200},
    {.family = KernelFamily::kGaussian, .slope = 0.0, .offset = 1e6, .bandwidth = 0.1},
    {.family = KernelFamily::kSameToken, .eps = 1.0 / 3.0},
    {.family = KernelFamily::kFirstSameToken, .eps = 1e-6},
    {.family = KernelFamily::kLastSameToken},
    {.family = KernelFamily::kInduction, .eps = 1.0},
};

std::vector<double> row(const HeadKernel& kernel, std::int64_t query, Sight sight = {.length = 5},
                        const std::vector<std::int64_t>& ids = {7, 8, 7, 7, 9}) {
  return kernel_row(kernel, query, 5, sight, ids);
}

auto near(const std::vector<double>& expected) { return Pointwise(DoubleNear(kExact), expected); }

TEST(Sight, CountsWhatItSees) {
  const Sight sight{.causal = true, .length = 6, .window = 2, .open = {1, 1, 0, 1, 1, 1}};
  std::vector<std::int64_t> counts;
  for (std::int64_t query = 0; query < 8; ++query) {
    std::int64_t seen = 0;
    for (std::int64_t key = 0; key < 6; ++key) seen += sight.sees(query, key);
    EXPECT_EQ(sight.visible(query), seen) << query;
    counts.push_back(seen);
  }
  EXPECT_THAT(counts, ElementsAre(1, 2, 2, 2, 2, 3, 2, 1));  // queries 6 and 7 are padding
  const Sight nothing{.length = 3, .open = {0, 0, 0}};
  EXPECT_EQ(nothing.visible(1), 0);
}

TEST(HeadKernel, RowsSumToOneOverVisibleKeysAndAreZeroElsewhere) {
  const std::vector<Sight> sights{{false, 5},
                                  {true, 5},
                                  {false, 3},
                                  {true, 3},
                                  {false, 5, 1},
                                  {true, 4, 2},
                                  {false, 5, 0},
                                  {false, 5, -1, {1, 0, 0, 1, 1}},
                                  {true, 5, 2, {0, 1, 0, 1, 0}}};
  for (const HeadKernel& kernel : kOneOfEach) {
    for (const Sight& sight : sights) {
      for (std::int64_t query = 0; query < 5; ++query) {
        const std::vector<double> weights = row(kernel, query, sight);
        ASSERT_EQ(weights.size(), 5U);
        EXPECT_NEAR(std::accumulate(weights.begin(), weights.end(), 0.0),
                    sight.visible(query) > 0 ? 1.0 : 0.0, kExact)
            << kernel_text(kernel) << " query " << query;
        for (std::int64_t key = 0; key < 5; ++key) {
          const double weight = weights[static_cast<std::size_t>(key)];
          EXPECT_GE(weight, 0.0);
          EXPECT_TRUE(weight == 0.0 || sight.sees(query, key));
        }
      }
    }
  }
}

TEST(HeadKernel, AHiddenKeyIsNotTheNearest) {
  const HeadKernel own{.family = KernelFamily::kGaussian, .bandwidth = 1e-3};
  EXPECT_THAT(row(own, 2, {.length = 5, .open = {1, 1, 0, 1, 1}}), near({0, 0.5, 0, 0.5, 0}));
  EXPECT_THAT(row({.family = KernelFamily::kFirstSameToken}, 3, {.length = 5, .open = {0, 1, 1, 1, 1}}),
              near({0, 0, 1, 0, 0}));
}

TEST(HeadKernel, FollowsItsFormulas) {
  EXPECT_THAT(row({.family = KernelFamily::kUniform}, 1), near({0.2, 0.2, 0.2, 0.2, 0.2}));
  EXPECT_THAT(row({.family = KernelFamily::kKey, .key = 3, .eps = 0.5}, 1), near({0.1, 0.1, 0.1, 0.6, 0.1}));
  EXPECT_THAT(row({.family = KernelFamily::kSameToken}, 3), near({1.0 / 3, 0, 1.0 / 3, 1.0 / 3, 0}));
  EXPECT_THAT(row({.family = KernelFamily::kFirstSameToken}, 3), near({1, 0, 0, 0, 0}));
  EXPECT_THAT(row({.family = KernelFamily::kLastSameToken}, 3), near({0, 0, 1, 0, 0}));
  EXPECT_THAT(row({.family = KernelFamily::kInduction}, 3), near({0, 0.5, 0, 0.5, 0}));
  // By hand: exp(-(j - 2.5)^2 / 2 * 0.5^2) = exp(-2 (j - 2.5)^2).
  const double far = std::exp(-12.5), middle = std::exp(-4.5), close = std::exp(-0.5);
  const double sum = far + 2 * middle + 2 * close;
  const HeadKernel mirrored{
      .family = KernelFamily::kGaussian, .slope = -1.0, .offset = 3.5, .bandwidth = 0.5};
  EXPECT_THAT(row(mirrored, 1), near({far / sum, middle / sum, close / sum, close / sum, middle / sum}));
}

TEST(HeadKernel, IsUniformWhereItNamesNoVisibleKey) {
  const std::vector<double> uniform{0.2, 0.2, 0.2, 0.2, 0.2};
  EXPECT_THAT(row({.family = KernelFamily::kLastSameToken}, 1), near(uniform));
  EXPECT_THAT(row({.family = KernelFamily::kInduction}, 0), near(uniform));
  EXPECT_THAT(row({.family = KernelFamily::kKey, .key = 5}, 1), near(uniform));
  EXPECT_THAT(row({.family = KernelFamily::kKey, .key = 3}, 1, {.causal = true, .length = 5}),
              near({0.5, 0.5, 0, 0, 0}));
}

TEST(HeadKernel, AGaussianFarFromEveryKeyTendsToTheNearestOne) {
  const HeadKernel far{.family = KernelFamily::kGaussian, .slope = 0.0, .offset = -1e9, .bandwidth = 1e-9};
  EXPECT_THAT(row(far, 2), ElementsAre(1, 0, 0, 0, 0));
  const HeadKernel between{
      .family = KernelFamily::kGaussian, .slope = 0.0, .offset = 1.5, .bandwidth = 1e-300};
  EXPECT_THAT(row(between, 2), ElementsAre(0, 0.5, 0.5, 0, 0));
}

TEST(HeadKernel, ARowThatSeesNothingIsZero) {
  for (const HeadKernel& kernel : kOneOfEach) {
    EXPECT_THAT(kernel_row(kernel, 0, 2, {.length = 0}, {}), ElementsAre(0, 0));
    EXPECT_TRUE(kernel_row(kernel, 0, 0, {.length = 0}, {}).empty());
  }
}

TEST(HeadKernel, RefusesWhatHasNoMeaning) {
  const auto refused = [](HeadKernel kernel, const std::string& why) {
    return test::fails([&] { (void)row(kernel, 0); }, ExitCode::kBadConfig, HasSubstr(why));
  };
  EXPECT_TRUE(refused({.family = KernelFamily::kGaussian, .bandwidth = 0.0}, "bandwidth is 0"));
  EXPECT_TRUE(refused({.family = KernelFamily::kGaussian, .bandwidth = NAN}, "bandwidth is nan"));
  EXPECT_TRUE(refused({.family = KernelFamily::kGaussian, .offset = INFINITY}, "offset inf"));
  EXPECT_TRUE(refused({.eps = -0.1}, "eps is -0.1"));
  EXPECT_TRUE(refused({.eps = 1.5}, "eps is 1.5"));
  EXPECT_TRUE(
      test::fails([] { (void)kernel_row({.family = KernelFamily::kSameToken}, 1, 5, {.length = 5}, {}); },
                  ExitCode::kInternal, HasSubstr("0 token ids")));
}

TEST(KernelText, ReadsBackTheSame) {
  for (const HeadKernel& kernel : kOneOfEach) EXPECT_EQ(parse_kernel(kernel_text(kernel)), kernel);
  EXPECT_EQ(kernel_text(parse_kernel("gaussian slope -1 offset 15 bandwidth 0.4 eps 0.02")),
            "gaussian slope -1 offset 15 bandwidth 0.4 eps 0.02");
  EXPECT_EQ(kernel_text({.family = KernelFamily::kKey, .key = 3}), "one-key key 3 eps 0");
}

TEST(KernelText, SaysWhatCannotBeRead) {
  const auto refused = [](const std::string& text, const ::testing::Matcher<std::string>& why) {
    return test::fails([&] { (void)parse_kernel(text); }, ExitCode::kBadConfig, why);
  };
  EXPECT_TRUE(refused("", HasSubstr("expected one of uniform, one-key")));
  EXPECT_TRUE(refused("gauss", AllOf(HasSubstr("'gauss'"), HasSubstr("gaussian"))));
  EXPECT_TRUE(refused("uniform eps 0.1", HasSubstr("nothing after 'uniform'")));
  EXPECT_TRUE(refused("gaussian key 3", HasSubstr("slope, offset, bandwidth, eps")));
  EXPECT_TRUE(refused("gaussian offset", HasSubstr("nothing after 'offset'")));
  EXPECT_TRUE(refused("gaussian offset 1x", HasSubstr("'1x'")));
  EXPECT_TRUE(refused("gaussian offset 1 offset 1", HasSubstr("twice")));
  EXPECT_TRUE(refused("gaussian bandwidth 0", HasSubstr("> 0")));
  EXPECT_TRUE(refused("gaussian bandwidth nan", HasSubstr("> 0")));
  EXPECT_TRUE(refused("one-key key -1", HasSubstr("from 0")));
  EXPECT_TRUE(refused("one-key key 1.5", HasSubstr("'1.5'")));
  EXPECT_TRUE(refused("same-token eps 2", HasSubstr("0 to 1")));
}

TEST(Describe, FitsASentence) {
  const auto gaussian = [](double slope, double offset, double bandwidth) {
    return HeadKernel{
        .family = KernelFamily::kGaussian, .slope = slope, .offset = offset, .bandwidth = bandwidth};
  };
  EXPECT_EQ(describe({}), "uniform");
  EXPECT_EQ(describe({.family = KernelFamily::kKey, .key = 3}), "one key (3)");
  EXPECT_EQ(describe(gaussian(1, 0.004, 1.23)), "a Gaussian around the own position, h 1.2");
  EXPECT_EQ(describe(gaussian(1, -1.0, 0.2)), "a Gaussian at offset -1, h <= 0.35");
  EXPECT_EQ(describe(gaussian(-1, 15.0, 0.4)), "a mirrored Gaussian, h 0.4");
  EXPECT_EQ(describe(gaussian(-1, 15.1, 0.4), 16), "a mirrored Gaussian, h 0.4");
  EXPECT_EQ(describe(gaussian(-1, 12.0, 0.4), 16), "a mirrored Gaussian (query + key = 12), h 0.4");
  EXPECT_EQ(describe(gaussian(0, 3.02, 1.0)), "a Gaussian at position 3, h 1");
  EXPECT_EQ(describe(gaussian(0.5, 2.0, 20.0)), "a Gaussian at 0.5 x position + 2, h 20");
  EXPECT_EQ(describe({.family = KernelFamily::kSameToken}), "a same-token kernel");
}

}  // namespace
}  // namespace headtorch
