#include "src/probe/head_reader.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "src/core/error.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/head_maps.hpp"
#include "tests/support/read_heads.hpp"

namespace headtorch::probe {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using test::gaussian;
using test::maps_of;
using test::MapsOptions;
using test::random_maps;
using test::read;
using test::tokens;

constexpr double kFloat = 1e-5;  // weights are recorded in float32

std::vector<MapsOptions> encoder_causal_padded() {
  std::vector<MapsOptions> all;
  for (const bool causal : {false, true}) {
    for (const bool padded : {false, true}) {
      all.push_back({.samples = 12, .causal = causal, .padded = padded});
    }
  }
  return all;
}

/// These, with a window, with a hidden token, and with both.
std::vector<MapsOptions> every_mask() {
  std::vector<MapsOptions> all;
  for (const std::int64_t window : {-1, 3}) {
    for (const std::int64_t hidden : {-1, 0}) {
      for (MapsOptions options : encoder_causal_padded()) {
        options.window = window;
        options.hidden = hidden;
        all.push_back(options);
      }
    }
  }
  return all;
}

MapsOptions other(MapsOptions options) {
  options.seed += 100;
  return options;
}

std::string name_of(const MapsOptions& options) {
  return std::string(options.causal ? "causal" : "encoder") + (options.padded ? ", padded" : "") +
         (options.window >= 0 ? ", window" : "") + (options.hidden >= 0 ? ", hidden token" : "");
}

TEST(HeadReader, NamesHeadsOfKnownKind) {
  const std::vector<HeadKernel> kernels{{},
                                        gaussian(1, 0, 0.1, 0.0),
                                        gaussian(1, -1, 0.1, 0.0),
                                        {.family = KernelFamily::kKey, .key = 0, .eps = 0.3},
                                        tokens(KernelFamily::kLastSameToken, 0.1),
                                        tokens(KernelFamily::kInduction, 0.1),
                                        gaussian(1, -3, 3.0, 0.1)};
  const std::vector<std::vector<std::string>> labels{{"uniform"},
                                                     {"one-hot", "identity", "local"},
                                                     {"one-hot", "previous-token", "local"},
                                                     {"sink"},
                                                     {"duplicate-token"},
                                                     {"induction"},
                                                     {}};
  for (MapsOptions options : encoder_causal_padded()) {
    options.tokens = 24;
    const std::vector<HeadReport> heads = read(maps_of(kernels, options), maps_of(kernels, other(options)));
    ASSERT_EQ(heads.size(), kernels.size());
    for (std::size_t i = 0; i < heads.size(); ++i) {
      EXPECT_EQ(heads[i].labels, labels[i]) << name_of(options) << ", head " << i;
      EXPECT_EQ(heads[i].head, static_cast<std::int64_t>(i));
      if (i == 0) continue;
      EXPECT_GT(heads[i].kernel.explained, 0.98) << name_of(options) << ", head " << i;
    }
    EXPECT_EQ(heads[3].sink_key, 0);
    EXPECT_EQ(heads[0].kernel.nature, "uniform");
    EXPECT_EQ(sentence(heads[0]), "L0H0 is uniform");
    EXPECT_TRUE(std::isnan(heads[0].kernel.explained));
    EXPECT_EQ(heads[2].kernel.kernel.family, KernelFamily::kGaussian);
    EXPECT_EQ(sentence(heads[2]), "L0H2 is a Gaussian at offset -1, h <= 0.35, explains 100 %");
    EXPECT_EQ(heads[3].kernel.kernel.family, KernelFamily::kKey);
    EXPECT_EQ(heads[4].kernel.kernel.family, KernelFamily::kLastSameToken);
    EXPECT_EQ(heads[5].kernel.kernel.family, KernelFamily::kInduction);
    EXPECT_EQ(heads[5].kernel.nature, "content");
  }
}

TEST(HeadReader, RecoversGaussiansOfEverySlope) {
  const std::vector<HeadKernel> kernels{gaussian(1, -1.4, 0.5, 0.05),  gaussian(1, -4.0, 2.0, 0.2),
                                        gaussian(-1, 23.0, 0.4, 0.02), gaussian(-1, 20.3, 1.5, 0.15),
                                        gaussian(0, 5.5, 1.0, 0.1),    gaussian(0, 9.25, 4.0, 0.3),
                                        gaussian(1, 0.0, 8.0, 0.0)};
  for (MapsOptions options : encoder_causal_padded()) {
    options.tokens = 24;
    const std::vector<HeadReport> heads = read(maps_of(kernels, options), maps_of(kernels, other(options)));
    for (std::size_t i = 0; i < heads.size(); ++i) {
      const HeadKernel& found = heads[i].kernel.kernel;
      const std::string where =
          name_of(options) + ", " + kernel_text(kernels[i]) + " as " + kernel_text(found);
      ASSERT_EQ(found.family, KernelFamily::kGaussian) << where;
      EXPECT_EQ(found.slope, kernels[i].slope) << where;
      EXPECT_NEAR(found.bandwidth / kernels[i].bandwidth, 1.0, 0.02) << where;
      EXPECT_NEAR(found.offset, kernels[i].offset,
                  0.02 * std::max({1.0, std::abs(kernels[i].offset), kernels[i].bandwidth}))
          << where;
      EXPECT_NEAR(found.eps, kernels[i].eps, 0.01) << where;
      EXPECT_GT(heads[i].kernel.explained, 0.999) << where;
      EXPECT_EQ(heads[i].kernel.nature, "positional") << where;
    }
  }
}

TEST(HeadReader, TellsTheTokenKernelsApart) {
  const std::vector<HeadKernel> kernels{
      tokens(KernelFamily::kSameToken, 0.2), tokens(KernelFamily::kFirstSameToken, 0.2),
      tokens(KernelFamily::kLastSameToken, 0.2), tokens(KernelFamily::kInduction, 0.2)};
  for (const MapsOptions& options : every_mask()) {
    const std::vector<HeadReport> heads = read(maps_of(kernels, options), maps_of(kernels, other(options)));
    for (std::size_t i = 0; i < heads.size(); ++i) {
      EXPECT_EQ(heads[i].kernel.kernel.family, kernels[i].family) << name_of(options);
      EXPECT_NEAR(heads[i].kernel.kernel.eps, 0.2, 1e-4) << name_of(options);
      EXPECT_NEAR(heads[i].kernel.explained, 1.0, 1e-4) << name_of(options);
    }
  }
}

TEST(HeadReader, FindsARedundantPair) {
  const HeadKernel wide = gaussian(1, -2, 2.0, 0.1), mirrored = gaussian(-1, 15, 1.0, 0.1);
  const std::vector<HeadReport> heads =
      read(maps_of({wide, mirrored, wide}, {}), maps_of({wide, mirrored, wide}, {}));
  EXPECT_THAT(heads[0].labels, Contains("redundant"));
  EXPECT_THAT(heads[2].labels, Contains("redundant"));
  EXPECT_THAT(heads[1].labels, Not(Contains("redundant")));
  EXPECT_EQ(heads[0].like_head, 2);
  EXPECT_NEAR(heads[0].score("similarity").value, 0.0, kFloat);
  EXPECT_GT(heads[1].score("similarity").value, 0.1);
}

/// KL of recorded weights to a kernel, row by row.
struct Direct {
  double kl = 0.0, kl_uniform = 0.0;
};

Direct direct(const AttentionMaps& maps, std::int64_t head, const HeadKernel& kernel,
              const std::vector<double>& importance) {
  const LayerWeights& layer = maps.layers[0];
  Direct sum;
  double total = 0.0;
  for (std::int64_t sample = 0; sample < layer.samples; ++sample) {
    const Sight sight = test::sight_of(maps, static_cast<std::size_t>(sample), layer.keys);
    for (std::int64_t query = 0; query < sight.length; ++query) {
      const std::int64_t visible = sight.visible(query);
      if (visible < 2) continue;
      const std::vector<double> row =
          kernel_row(kernel, query, layer.keys, sight, maps.ids[static_cast<std::size_t>(sample)]);
      const double weight = importance[static_cast<std::size_t>(query)];
      for (std::int64_t key = 0; key < layer.keys; ++key) {
        const double a = layer.head(sample, head)[static_cast<std::size_t>(query * layer.keys + key)];
        if (a == 0.0) continue;
        sum.kl += weight * a * std::log(a / row[static_cast<std::size_t>(key)]);
        sum.kl_uniform += weight * a * std::log(a * static_cast<double>(visible));
      }
      total += weight;
    }
  }
  return {.kl = sum.kl / total, .kl_uniform = sum.kl_uniform / total};
}

TEST(HeadReader, ExplainsWhatTheKernelItselfExplains) {
  for (MapsOptions options : every_mask()) {
    options.tokens = 7;
    const AttentionMaps fit = random_maps(5, 4.0, options), judge = random_maps(5, 4.0, other(options));
    HeadReaderOptions weighting;
    weighting.row_importance.emplace_back();
    for (int i = 0; i < 5 * 7; ++i) weighting.row_importance[0].push_back(i % 7 == 2 ? 0.0 : 1.0 + i % 5);
    for (const HeadReport& head : read(fit, judge, weighting)) {
      const std::vector<double> importance(weighting.row_importance[0].begin() + head.head * 7,
                                           weighting.row_importance[0].begin() + (head.head + 1) * 7);
      EXPECT_TRUE(head.kernel.weighted);
      const Direct nearest = direct(judge, head.head, head.kernel.kernel, importance);
      EXPECT_NEAR(head.kernel.kl, nearest.kl, kFloat) << name_of(options);
      EXPECT_NEAR(head.kernel.kl_uniform, nearest.kl_uniform, kFloat) << name_of(options);
      EXPECT_NEAR(head.kernel.explained, 1.0 - nearest.kl / nearest.kl_uniform, kFloat);
      EXPECT_EQ(head.kernel.families.size(), 8U);
      for (const FamilyFit& family : head.kernel.families) {
        const Direct tried = direct(judge, head.head, family.kernel, importance);
        EXPECT_NEAR(family.explained, 1.0 - tried.kl / tried.kl_uniform, kFloat)
            << name_of(options) << ", " << kernel_text(family.kernel);
      }
    }
  }
}

TEST(HeadReader, NeverExplainsLessThanUniformOnTheHalfFitted) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    for (MapsOptions options : every_mask()) {
      options.tokens = 5;
      options.samples = 3;
      options.seed = seed;
      for (const HeadReport& head : read(random_maps(3, 6.0, options))) {
        if (head.score("entropy_normalised").rows == 0) continue;  // no row has two keys to choose from
        EXPECT_FALSE(head.kernel.held_out);
        EXPECT_GE(head.kernel.explained, 0.0);
        EXPECT_GE(head.kernel.explained_unweighted, 0.0);
        EXPECT_GE(head.kernel.positional_share, 0.0);
        for (const FamilyFit& family : head.kernel.families) EXPECT_GE(family.explained, -1e-12);
      }
    }
  }
}

TEST(HeadReader, WeighsRowsByTheirImportance) {
  // Even rows look at the token before, odd rows at key 0.
  AttentionMaps maps = test::inputs_of({});
  test::add_layer(maps, 1, 16, [](std::size_t, std::int64_t, std::int64_t query, const Sight&) {
    std::vector<double> row(16, 0.0);
    row[static_cast<std::size_t>(query % 2 == 0 ? std::max<std::int64_t>(query - 1, 0) : 0)] = 1.0;
    return row;
  });
  const auto important = [](std::int64_t remainder) {
    HeadReaderOptions options;
    options.row_importance.emplace_back();
    for (std::int64_t i = 0; i < 16; ++i) options.row_importance[0].push_back(i % 2 == remainder ? 0.5 : 0.0);
    return options;
  };
  const HeadReport before = read(maps, maps, important(0)).front();
  EXPECT_EQ(before.kernel.kernel.family, KernelFamily::kGaussian);
  EXPECT_NEAR(before.kernel.explained, 1.0, 1e-3);
  EXPECT_LT(before.kernel.explained_unweighted, 0.9);
  EXPECT_THAT(before.labels, Contains("previous-token"));
  EXPECT_NEAR(before.score("previous_token_weighted").value, 1.0, kFloat);
  EXPECT_NEAR(before.score("previous_token").value, 8.0 / 15.0, kFloat);  // rows 1, 2, 4, .. 14 of 15
  const HeadReport first = read(maps, maps, important(1)).front();
  EXPECT_EQ(first.kernel.kernel.family, KernelFamily::kKey);
  EXPECT_NEAR(first.kernel.explained, 1.0, 1e-3);

  HeadReaderOptions none;
  none.row_importance = {std::vector<double>(16, 0.0)};
  const HeadReport alike = read(maps, maps, none).front();
  EXPECT_FALSE(alike.kernel.weighted);
  EXPECT_EQ(alike.kernel.explained, alike.kernel.explained_unweighted);
  EXPECT_EQ(alike.score("previous_token_weighted").value, alike.score("previous_token").value);
  EXPECT_FALSE(read(maps).front().kernel.weighted);
  EXPECT_TRUE(test::fails([&] { (void)read(maps).front().score("previous_token_weighted"); },
                          ExitCode::kBadConfig, HasSubstr("expected one of entropy")));
}

TEST(HeadReader, DoesNotDependOnOrderOrCalls) {
  MapsOptions options{.samples = 6, .tokens = 9, .padded = true};
  const AttentionMaps fit = random_maps(3, 4.0, options), judge = random_maps(3, 4.0, other(options));
  const std::vector<HeadReport> whole = read(fit, judge);
  HeadReader reader({});
  for (const std::int64_t sample : {4, 2, 5, 0, 1, 3}) reader.fit(test::part_of(fit, sample, 1));
  reader.judge(test::part_of(judge, 3, 3));
  reader.judge(test::part_of(judge, 0, 3));
  const std::vector<HeadReport> parts = reader.reports();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (std::size_t s = 0; s < whole[i].scores.size(); ++s) {
      const Score &a = whole[i].scores[s].score, &b = parts[i].scores[s].score;
      EXPECT_NEAR(a.value, b.value, 1e-12) << whole[i].scores[s].name;
      EXPECT_NEAR(a.low, b.low, 1e-12) << whole[i].scores[s].name;
      EXPECT_NEAR(a.chance, b.chance, 1e-12) << whole[i].scores[s].name;
      EXPECT_EQ(a.rows, b.rows);
    }
    EXPECT_NEAR(whole[i].kernel.explained, parts[i].kernel.explained, 1e-9);
    EXPECT_EQ(whole[i].labels, parts[i].labels);
    EXPECT_EQ(whole[i].kernel.kernel.family, parts[i].kernel.kernel.family);
  }
}

TEST(HeadReader, GivesEachRowAGaussianOfItsOwn) {
  // Bandwidth grows with the row: no one Gaussian fits.
  AttentionMaps maps = test::inputs_of({.samples = 4});
  const auto bandwidth = [](std::int64_t query) { return 0.5 + 0.25 * static_cast<double>(query); };
  test::add_layer(
      maps, 1, 16, [&](std::size_t, std::int64_t query_head, std::int64_t query, const Sight& sight) {
        (void)query_head;
        if (query == 15) return std::vector<double>(16, 1.0 / 16);
        return kernel_row(gaussian(0, 10.0 - static_cast<double>(query) / 2, bandwidth(query), 0.1), query,
                          16, sight, {});
      });
  const HeadReport head = read(maps, maps, {.row_importance = {}, .kernel_by_row = true}).front();
  ASSERT_EQ(head.kernel.rows.size(), 16U);
  ASSERT_TRUE(head.kernel.explained_by_row && head.kernel.eps_by_row);
  EXPECT_GT(*head.kernel.explained_by_row, 0.99);
  EXPECT_GT(*head.kernel.explained_by_row, head.kernel.explained + 0.01);
  for (std::int64_t query = 1; query < 8; ++query) {
    const RowKernel& row = head.kernel.rows[static_cast<std::size_t>(query)];
    EXPECT_TRUE(row.identified);
    EXPECT_NEAR(row.centre, 10.0 - static_cast<double>(query) / 2, 0.1) << query;
    EXPECT_NEAR(row.bandwidth / bandwidth(query), 1.0, 0.1) << query;
  }
  EXPECT_FALSE(head.kernel.rows[15].identified);
}

TEST(HeadReader, G09_heads_are_not_averaged) {
  AttentionMaps maps = test::inputs_of({.samples = 2, .tokens = 4});
  test::add_layer(maps, 4, 4, [](std::size_t, std::int64_t head, std::int64_t query, const Sight&) {
    std::vector<double> row(4, 0.0);
    row[static_cast<std::size_t>((query + head) % 4)] = 1.0;
    return row;
  });
  for (const HeadReport& head : read(maps)) {
    EXPECT_THAT(head.labels,
                AllOf(Contains("one-hot"), Not(Contains("uniform")), Not(Contains("redundant"))));
    EXPECT_EQ(head.score("entropy").value, 0.0);
    EXPECT_DOUBLE_EQ(head.score("similarity").value, std::log(2.0));
  }
}

TEST(HeadReader, TokensAreComparedByTextWhereThereAreNoIds) {
  AttentionMaps by_id = maps_of({tokens(KernelFamily::kSameToken, 0.1)}, {});
  AttentionMaps by_text = by_id;
  for (const auto& row : by_id.ids) {
    by_text.tokens.emplace_back();
    for (const std::int64_t id : row) by_text.tokens.back().push_back("t" + std::to_string(id));
  }
  by_text.ids.clear();
  AttentionMaps neither = by_text;
  neither.tokens.clear();
  EXPECT_EQ(read(by_text)[0].score("duplicate_token").value, read(by_id)[0].score("duplicate_token").value);
  EXPECT_EQ(read(by_text)[0].kernel.kernel, read(by_id)[0].kernel.kernel);
  EXPECT_EQ(read(neither)[0].score("duplicate_token").rows, 0);
  EXPECT_EQ(read(neither)[0].kernel.families.size(), 4U);
}

TEST(HeadReader, TakesInductionFromRepeatedTokensWhereGiven) {
  const HeadKernel kernel = tokens(KernelFamily::kInduction, 0.1);
  const MapsOptions task{.samples = 4, .tokens = 9, .vocabulary = 3};
  AttentionMaps repeated = test::inputs_of({.samples = 5, .tokens = 8, .vocabulary = 50});
  for (auto& ids : repeated.ids) std::copy(ids.begin(), ids.begin() + 4, ids.begin() + 4);
  test::add_layer(repeated, 1, 8,
                  [&](std::size_t sample, std::int64_t, std::int64_t query, const Sight& sight) {
                    return kernel_row(kernel, query, 8, sight, repeated.ids[sample]);
                  });
  HeadReader reader({});
  reader.fit(maps_of({{}}, task));
  reader.repeated(repeated);
  const HeadReport head = reader.reports().front();
  EXPECT_NEAR(head.score("induction").value, 0.9 + 0.1 / 8, 0.03);
  EXPECT_GE(head.score("induction").rows, 20);
  EXPECT_THAT(head.labels, Contains("induction"));
  EXPECT_THAT(head.labels, Contains("uniform"));
}

}  // namespace
}  // namespace headtorch::probe
