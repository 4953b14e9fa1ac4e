#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "src/core/error.hpp"
#include "src/probe/head_reader.hpp"
#include "src/probe/kernel_maps.hpp"
#include "src/probe/rollout.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/head_maps.hpp"
#include "tests/support/read_heads.hpp"

// Heads under windows, with hidden tokens, and between two sequences.

namespace headtorch::probe {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using test::cross_maps_of;
using test::gaussian;
using test::maps_of;
using test::read;

constexpr double kFloat = 1e-5;  // weights are recorded in float32

TEST(Window, UniformWeightsAreUniformAndChanceIsOneOverTheKeysInIt) {
  const HeadReport head = read(maps_of({{}}, {.tokens = 9, .window = 2})).front();
  EXPECT_THAT(head.labels, Contains("uniform"));
  EXPECT_EQ(head.kernel.nature, "uniform");
  EXPECT_NEAR(head.score("entropy_normalised").value, 1.0, kFloat);
  // Rows see 3, 4, 5, 5, 5, 5, 5, 4, 3 keys.
  const double mean = (2 / 3.0 + 2 / 4.0 + 5 / 5.0) / 9;
  EXPECT_NEAR(head.score("max_weight").chance, mean, kFloat);
  EXPECT_NEAR(head.score("identity").chance, mean, kFloat);
  EXPECT_NEAR(head.score("identity").value, mean, kFloat);
  EXPECT_NEAR(head.score("previous_token").chance, (1 / 3.0 + 2 / 4.0 + 5 / 5.0) / 8, kFloat);
  EXPECT_NEAR(head.score("effective_sample").value, (2 * 3 + 2 * 4 + 5 * 5) / 9.0, kFloat);
  EXPECT_EQ(head.score("local").chance, 1.0);
  EXPECT_EQ(head.score("sink").rows, 0) << "no key is seen by half of the rows after it";
}

TEST(Window, WeightBeyondItIsRefused) {
  AttentionMaps maps = maps_of({{}}, {.tokens = 9});
  maps.window = 2;
  EXPECT_TRUE(test::fails([&] { (void)read(maps); }, ExitCode::kBadConfig, HasSubstr("may not see")));
}

TEST(Window, KernelsAreFoundThroughIt) {
  const std::vector<HeadKernel> kernels{gaussian(1, -1.4, 0.6, 0.05), gaussian(1, 2.0, 1.5, 0.1)};
  const auto heads = read(maps_of(kernels, {.tokens = 24, .window = 5}));
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    EXPECT_GT(heads[i].kernel.explained, 0.999);
    EXPECT_NEAR(heads[i].kernel.kernel.offset, kernels[i].offset, 0.03);
    EXPECT_NEAR(heads[i].kernel.kernel.bandwidth, kernels[i].bandwidth, 0.03);
  }
}

/// One input with the weights of a case of head_scores.json; hidden positions hold token 7.
AttentionMaps of_case(const nlohmann::json& one, const std::vector<std::size_t>& hidden) {
  const auto& attention = one["attention"];
  AttentionMaps maps;
  LayerWeights layer{1, 1, attention["shape"][0], attention["shape"][1], attention["data"]};
  maps.ids.emplace_back(static_cast<std::size_t>(layer.keys), 4);
  for (const std::size_t at : hidden) maps.ids[0][at] = 7;
  if (!hidden.empty()) maps.hidden = {7};
  maps.layers.push_back(std::move(layer));
  return maps;
}

void expect_scores(const AttentionMaps& maps, const nlohmann::json& one) {
  const HeadReport head = read(maps).front();
  for (const auto& [name, score] : one["scores"].items()) {
    EXPECT_NEAR(head.score(name).value, score["value"].get<double>(), kFloat) << name;
    EXPECT_NEAR(head.score(name).chance, score["chance"].get<double>(), kFloat) << name;
    EXPECT_EQ(head.score(name).rows, score["rows"].get<std::int64_t>()) << name;
  }
}

TEST(Masks, ScoresMatchTheReference) {
  std::ifstream in(std::string(HEADTORCH_SOURCE_DIR) + "/tests/golden/head_scores.json");
  const nlohmann::json cases = nlohmann::json::parse(in)["masks"];
  AttentionMaps maps = of_case(cases["window"], {});
  maps.window = 2;
  expect_scores(maps, cases["window"]);
  maps = of_case(cases["causal_window_hidden"], {1, 5});
  maps.window = 4;
  maps.causal = true;
  expect_scores(maps, cases["causal_window_hidden"]);
  expect_scores(of_case(cases["hidden"], {0, 3}), cases["hidden"]);
  maps = of_case(cases["cross"], {});
  maps.layers[0].stack = Stack::kCross;
  expect_scores(maps, cases["cross"]);
}

AttentionMaps with_hidden(std::vector<float> values, std::vector<std::int64_t> ids) {
  AttentionMaps maps;
  const std::int64_t n = std::ssize(ids);
  maps.ids = {std::move(ids)};
  maps.hidden = {7};
  maps.layers = {{.samples = 1, .heads = 1, .queries = n, .keys = n, .values = std::move(values)}};
  return maps;
}

TEST(HiddenToken, ChangesChanceAndIsNoKey) {
  // Position 1 is hidden: every row looks at positions 0 and 2, one third and two thirds.
  const float a = 1.0F / 3, b = 2.0F / 3;
  const HeadReport head = read(with_hidden({a, 0, b, a, 0, b, a, 0, b}, {4, 7, 4})).front();
  EXPECT_NEAR(head.score("max_weight").chance, 0.5, kFloat);
  const double entropy = -(std::log(1 / 3.0) + 2 * std::log(2 / 3.0)) / 3;
  EXPECT_NEAR(head.score("entropy_normalised").value, entropy / std::log(2.0), kFloat);
  EXPECT_EQ(head.score("identity").rows, 2) << "the hidden position cannot look at itself";
  EXPECT_NEAR(head.score("identity").value, 0.5, kFloat);
  EXPECT_EQ(head.score("previous_token").rows, 1) << "row 1 alone sees the position before it";
  EXPECT_NEAR(head.score("previous_token").value, a, kFloat);
  EXPECT_NEAR(head.score("duplicate_token").value, a, kFloat) << "row 2 on position 0";
  EXPECT_TRUE(test::fails(
      [] {
        (void)read(with_hidden({1, 0, 0, 1, 0, 0, 0, 1, 0}, {4, 7, 4}));
      },
      ExitCode::kBadConfig, HasSubstr("may not see")));
}

TEST(HiddenToken, UniformOverTheOthersIsUniform) {
  for (const bool causal : {false, true}) {
    const HeadReport head = read(maps_of({{}}, {.causal = causal, .hidden = 0})).front();
    EXPECT_EQ(head.kernel.nature, "uniform");
    EXPECT_THAT(head.labels, Contains("uniform"));
  }
}

TEST(HiddenToken, IsCountedByTheKernelsOfEachInput) {
  const AttentionMaps maps = maps_of({gaussian(1, -1, 0.8, 0.1)}, {.samples = 4, .hidden = 0});
  const AttentionMaps fitted = kernel_maps(maps, read(maps));
  for (std::size_t cell = 0; cell < maps.layers[0].values.size(); ++cell) {
    ASSERT_NEAR(fitted.layers[0].values[cell], maps.layers[0].values[cell], 0.01);
  }
}

TEST(CrossAttention, UniformExplainsNothing) {
  for (const bool padded : {false, true}) {
    const HeadReport head = read(cross_maps_of({{}}, {.padded = padded})).front();
    EXPECT_EQ(head.kernel.nature, "uniform");
    EXPECT_TRUE(std::isnan(head.kernel.explained));
    EXPECT_NEAR(head.score("entropy_normalised").value, 1.0, kFloat) << "padded source keys never count";
    EXPECT_EQ(sentence(head), "C0H0 is uniform");
  }
}

TEST(CrossAttention, ADiagonalIsAGaussianWithItsSlope) {
  const std::vector<HeadKernel> kernels{gaussian(1, 2, 0.6, 0.05),
                                        gaussian(-1, 12, 0.8, 0.1),
                                        gaussian(0, 4, 1.0, 0.1),
                                        gaussian(15.0 / 9.0, 0.0, 0.7, 0.05),
                                        {.family = KernelFamily::kKey, .key = 3, .eps = 0.2}};
  const std::vector<HeadReport> heads = read(cross_maps_of(kernels, {.samples = 4}));
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const HeadKernel& found = heads[i].kernel.kernel;
    EXPECT_EQ(heads[i].stack, Stack::kCross);
    EXPECT_EQ(found.family, kernels[i].family) << kernel_text(found);
    EXPECT_GT(heads[i].kernel.explained, 0.999) << kernel_text(found);
    EXPECT_EQ(heads[i].kernel.nature, "positional");
    if (found.family != KernelFamily::kGaussian) continue;
    EXPECT_DOUBLE_EQ(found.slope, kernels[i].slope);
    EXPECT_NEAR(found.offset, kernels[i].offset, 0.05);
    EXPECT_NEAR(found.bandwidth, kernels[i].bandwidth, 0.05);
  }
  EXPECT_EQ(sentence(heads[3]).find("own position"), std::string::npos);
}

TEST(CrossAttention, ScoresOfPositionsAndTokensAreAbsentThere) {
  // As many queries as keys: only the stack tells that positions are not shared.
  const HeadReport head = read(cross_maps_of({gaussian(1, 0, 0.3, 0.0)}, {.queries = 8, .keys = 8})).front();
  for (const char* name : {"previous_token", "duplicate_token", "induction", "mean_distance", "effective_df",
                           "identity", "local", "previous_token_tl", "induction_tl_abs"}) {
    EXPECT_EQ(head.score(name).rows, 0) << name;
    EXPECT_TRUE(std::isnan(head.score(name).value)) << name;
  }
  EXPECT_THAT(head.labels, Not(Contains("identity")));
  for (const FamilyFit& family : head.kernel.families) {
    EXPECT_NE(family.kernel.family, KernelFamily::kSameToken);
  }
  EXPECT_EQ(sentence(head), "C0H0 is a Gaussian around the same position, h <= 0.35, explains 100 %");
}

TEST(CrossAttention, PaddedTargetsAndSourcesCountNowhere) {
  AttentionMaps maps = cross_maps_of({gaussian(1, 0, 1.0, 0.1)}, {.samples = 6, .padded = true});
  const HeadReport before = read(maps).front();
  EXPECT_GT(before.kernel.explained, 0.99);
  LayerWeights& layer = maps.layers[0];
  for (std::int64_t sample = 0; sample < layer.samples; ++sample) {  // rows of padding may hold anything
    for (std::int64_t query = maps.lengths[static_cast<std::size_t>(sample)]; query < layer.queries;
         ++query) {
      layer.values[static_cast<std::size_t>((sample * layer.queries + query) * layer.keys)] = 1.0F;
    }
  }
  const HeadReport after = read(maps).front();
  EXPECT_EQ(after.score("entropy").value, before.score("entropy").value);
  EXPECT_EQ(after.kernel.explained, before.kernel.explained);
  maps.source.lengths[0] = 2;
  EXPECT_TRUE(test::fails([&] { (void)read(maps); }, ExitCode::kBadConfig,
                          HasSubstr("cross-attention layer 0, head 0, input 0")));
}

TEST(CrossAttention, HiddenSourceTokensAreNoKeys) {
  AttentionMaps maps = cross_maps_of({{}}, {.samples = 2, .queries = 3, .keys = 4});
  for (auto& ids : maps.source.ids) ids = {6, 7, 6, 6};
  maps.hidden = {7};
  for (std::size_t cell = 0; cell < maps.layers[0].values.size(); ++cell) {
    maps.layers[0].values[cell] = cell % 4 == 1 ? 0.0F : 1.0F / 3;
  }
  const HeadReport head = read(maps).front();
  EXPECT_EQ(head.kernel.nature, "uniform");
  EXPECT_NEAR(head.score("max_weight").chance, 1 / 3.0, kFloat);
}

/// Encoder, decoder and cross-attention of one model.
AttentionMaps three_stacks() {
  AttentionMaps maps = cross_maps_of({gaussian(1, 0, 0.5, 0.1), gaussian(1, 0, 0.5, 0.1)}, {.samples = 3});
  const auto self = [](Stack stack, std::int64_t size, bool causal) {
    LayerWeights layer{3, 2, size, size, {}, stack, 0};
    for (int map = 0; map < 6; ++map) {
      for (std::int64_t query = 0; query < size; ++query) {
        const auto row = kernel_row(gaussian(1, map % 2 - 1, 0.5, 0.1), query, size,
                                    {.causal = causal, .length = size}, {});
        layer.values.insert(layer.values.end(), row.begin(), row.end());
      }
    }
    return layer;
  };
  maps.layers.insert(maps.layers.begin(),
                     {self(Stack::kEncoder, 16, false), self(Stack::kDecoder, 10, true)});
  return maps;
}

TEST(Stacks, EachIsReadByItsOwnMask) {
  const std::vector<HeadReport> heads = read(three_stacks());
  std::vector<std::string> names;
  for (const HeadReport& head : heads) names.push_back(head_name(head));
  EXPECT_THAT(names, ElementsAre("E0H0", "E0H1", "D0H0", "D0H1", "C0H0", "C0H1"));
  EXPECT_THAT(heads[0].labels, Not(Contains("redundant")));
  EXPECT_THAT(heads[4].labels, Contains("redundant"));
  EXPECT_EQ(heads[4].like_head, 1) << "compared within its layer";
  EXPECT_NEAR(
      heads[2].score("max_weight").chance,
      [] {
        double sum = 0.0;
        for (int visible = 1; visible <= 10; ++visible) sum += 1.0 / visible;
        return sum / 10;
      }(),
      kFloat)
      << "a decoder never looks ahead, though maps.causal is false";
}

TEST(Stacks, KernelsAndStrengthsFindTheirHeads) {
  const AttentionMaps maps = three_stacks();
  const std::vector<HeadReport> heads = read(maps);
  const AttentionMaps fitted = kernel_maps(maps, {heads[5]});
  EXPECT_EQ(fitted.layers[0].head(0, 1)[0], 0.0F);
  EXPECT_NEAR(fitted.layers[2].head(0, 1)[0], maps.layers[2].head(0, 1)[0], 0.01);
  EXPECT_GT(strengths(maps, {0, 1, Stack::kCross}, {})[0], 0.5);
  EXPECT_THROW((void)strengths(maps, {1, 0, Stack::kCross}, {}), ConfigError);
}

TEST(Stacks, RolloutIsWithinOne) {
  const AttentionMaps maps = three_stacks();
  EXPECT_EQ(rollout(maps, 0, Stack::kEncoder).size(), 256U);
  const std::vector<double> decoder = rollout(maps, 0, Stack::kDecoder);
  ASSERT_EQ(decoder.size(), 100U);
  EXPECT_EQ(decoder[1], 0.0);
  EXPECT_TRUE(test::fails([&] { (void)rollout(maps, 0, Stack::kCross); }, ExitCode::kInternal,
                          HasSubstr("10 queries and 16 keys")));
  EXPECT_TRUE(test::fails([&] { (void)rollout(maps, 0); }, ExitCode::kInternal, HasSubstr("stack self")));
}

TEST(Stacks, TwoLayersOfOneNameAreRefused) {
  AttentionMaps maps = three_stacks();
  maps.layers.push_back(maps.layers.back());
  EXPECT_TRUE(test::fails([&] { (void)read(maps); }, ExitCode::kInternal,
                          HasSubstr("two layers are cross-attention")));
}

}  // namespace
}  // namespace headtorch::probe
