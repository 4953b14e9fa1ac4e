#include "src/probe/head_scores.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "src/probe/head_reader.hpp"
#include "src/probe/labels.hpp"
#include "src/probe/rollout.hpp"
#include "src/probe/summary.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/head_maps.hpp"

namespace headtorch::probe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kFloat = 1e-5;  // weights are recorded in float32

nlohmann::json golden(const std::string& file) {
  std::ifstream in(std::string(HEADTORCH_SOURCE_DIR) + "/tests/golden/" + file);
  return nlohmann::json::parse(in);
}

std::vector<float> data(const nlohmann::json& tensor) { return tensor.at("data").get<std::vector<float>>(); }

/// One input, one layer of square maps.
AttentionMaps one_input(std::vector<float> values, std::int64_t heads, std::int64_t tokens,
                        bool causal = false) {
  AttentionMaps maps;
  maps.causal = causal;
  maps.layers = {
      {.samples = 1, .heads = heads, .queries = tokens, .keys = tokens, .values = std::move(values)}};
  return maps;
}

std::vector<HeadReport> read(const AttentionMaps& maps) {
  HeadReader reader({});
  reader.fit(maps);
  return reader.reports();
}

TEST(HeadScores, MatchTheReferenceForEntropy) {
  const nlohmann::json reference = golden("attention.json")["entropy"];
  const auto scores = reference["scores"]["data"].get<std::vector<double>>();
  for (const bool causal : {false, true}) {
    std::vector<float> weights;
    for (std::size_t row = 0; row < 18; ++row) {
      const std::size_t visible = causal ? row % 6 + 1 : 6;
      double sum = 0.0;
      for (std::size_t key = 0; key < visible; ++key) sum += std::exp(scores[row * 6 + key]);
      for (std::size_t key = 0; key < 6; ++key) {
        weights.push_back(key < visible ? static_cast<float>(std::exp(scores[row * 6 + key]) / sum) : 0.0F);
      }
    }
    const std::string kind = causal ? "causal" : "full";
    const std::vector<HeadReport> heads = read(one_input(weights, 3, 6, causal));
    for (std::size_t head = 0; head < 3; ++head) {
      EXPECT_NEAR(heads[head].score("entropy").value, reference[kind + "_mean_per_head"][head].get<double>(),
                  kFloat);
      EXPECT_NEAR(heads[head].score("entropy_normalised").value,
                  reference[kind + "_normalised_mean_per_head"][head].get<double>(), kFloat);
      EXPECT_EQ(heads[head].score("entropy_normalised").rows, causal ? 5 : 6);
    }
  }
}

TEST(HeadScores, MatchTheReferenceForInduction) {
  const nlohmann::json reference = golden("head_scores.json")["induction"];
  for (const auto& [name, pattern] : reference["patterns"].items()) {
    AttentionMaps maps = one_input(data(pattern["attention"]), 1, 16, true);
    maps.ids = {reference["tokens"].get<std::vector<std::int64_t>>()};
    const HeadReport head = read(maps).front();
    const nlohmann::json& expected = pattern["scores"];
    EXPECT_NEAR(head.score("induction").value, expected["prefix_matching"].get<double>(), kFloat) << name;
    EXPECT_NEAR(head.score("duplicate_token").value, expected["duplicate_token"].get<double>(), kFloat)
        << name;
    EXPECT_NEAR(head.score("previous_token").value, expected["previous_token"].get<double>(), kFloat) << name;
    EXPECT_EQ(head.score("induction").rows, 8) << name;
  }
  // shared/reference/attention.json, induction.ambiguous: several earlier copies under uniform causal
  // weights.
  AttentionMaps ambiguous = one_input({}, 1, 8, true);
  ambiguous.ids = {{3, 5, 3, 7, 3, 5, 9, 5}};
  for (int query = 0; query < 8; ++query) {
    for (int key = 0; key < 8; ++key) {
      ambiguous.layers[0].values.push_back(key <= query ? 1.0F / static_cast<float>(query + 1) : 0.0F);
    }
  }
  const HeadReport head = read(ambiguous).front();
  EXPECT_NEAR(head.score("induction").value, 0.2875, kFloat);
  EXPECT_NEAR(head.score("induction").chance, 0.2875, 1e-12);
}

TEST(Rollout, MatchesTheReference) {
  const nlohmann::json reference = golden("head_scores.json")["rollout"];
  const std::vector<float> values = data(reference["attention"]);
  AttentionMaps maps;
  for (std::size_t layer = 0; layer < 3; ++layer) {
    const auto start = values.begin() + static_cast<std::ptrdiff_t>(layer * 32);
    maps.layers.push_back({.samples = 1,
                           .heads = 2,
                           .queries = 4,
                           .keys = 4,
                           .values = {start, start + 32},
                           .layer = std::ssize(maps.layers)});
  }
  const auto expected = reference["rollout"]["data"].get<std::vector<double>>();
  EXPECT_THAT(rollout(maps, 0), ::testing::Pointwise(::testing::DoubleNear(kFloat), expected));
}

TEST(Rollout, RowsSumToOneAlsoOfPaddingAndOfRowsThatSeeNothing) {
  AttentionMaps maps = one_input({0.5F, 0.5F, 0, 0, 0, 0, 0.3F, 0.7F, 0}, 1, 3);
  maps.lengths = {2};
  maps.layers.push_back(maps.layers[0]);
  maps.layers[1].layer = 1;
  const std::vector<double> rolled = rollout(maps, 0);
  for (std::size_t row = 0; row < 3; ++row) {
    EXPECT_NEAR(rolled[row * 3] + rolled[row * 3 + 1] + rolled[row * 3 + 2], 1.0, 1e-12);
  }
  EXPECT_EQ(rolled[4], 1.0);
  EXPECT_EQ(rolled[8], 1.0);
  EXPECT_TRUE(test::fails([&] { (void)rollout(maps, 1); }, ExitCode::kInternal, HasSubstr("sample 1")));
  maps.layers[1].queries = 1;
  maps.layers[1].values.resize(3);
  EXPECT_TRUE(
      test::fails([&] { (void)rollout(maps, 0); }, ExitCode::kInternal, HasSubstr("1 queries and 3 keys")));
}

TEST(HeadScores, GiveAnIntervalOverInputs) {
  // Two and three rows; on the diagonal 0.9 and 0.5, and 0.1, 0.4, 0.7.
  AttentionMaps maps;
  maps.ids = {{1, 2, 3}, {1, 2, 3}};
  maps.lengths = {2, 3};
  maps.layers = {{.samples = 2,
                  .heads = 1,
                  .queries = 3,
                  .keys = 3,
                  .values = {0.9F, 0.1F, 0, 0.5F, 0.5F, 0, 0, 0, 0,  //
                             0.1F, 0.9F, 0, 0.6F, 0.4F, 0, 0.3F, 0, 0.7F}}};
  const Score identity = read(maps)[0].score("identity");
  const double r = (1.4 + 1.2) / 5.0;
  const double squares = (1.4 - 2 * r) * (1.4 - 2 * r) + (1.2 - 3 * r) * (1.2 - 3 * r);
  const double half = student_t_95(1) * std::sqrt(2.0 / 1.0 * squares) / 5.0;
  EXPECT_EQ(identity.rows, 5);
  EXPECT_NEAR(identity.value, r, kFloat);
  EXPECT_NEAR(identity.low, r - half, 1e-4);  // t(1) = 12.7 times kFloat
  EXPECT_NEAR(identity.high, r + half, 1e-4);
  EXPECT_NEAR(identity.chance, (2 * 0.5 + 3 / 3.0) / 5.0, 1e-12);

  // The trace is one number an input: mean and spread of 1.4 and 1.2.
  const Score df = read(maps)[0].score("effective_df");
  EXPECT_NEAR(df.value, 1.3, kFloat);
  EXPECT_NEAR(df.high - df.value, student_t_95(1) * 0.1, 1e-4);
  EXPECT_EQ(df.rows, 5);
  EXPECT_NEAR(df.chance, 1.0, 1e-12);
}

TEST(HeadScores, FollowTheirDefinitionsOnASmallMap) {
  AttentionMaps maps = one_input({1, 0, 0, 0,             //
                                  0.5F, 0.5F, 0, 0,       //
                                  0.25F, 0.25F, 0.5F, 0,  //
                                  0.5F, 0.25F, 0.25F, 0},
                                 1, 4, true);
  maps.ids = {{5, 6, 5, 5}};
  const HeadReport head = read(maps).front();
  const auto value = [&](const char* name) { return head.score(name).value; };
  EXPECT_NEAR(value("max_weight"), (1 + 0.5 + 0.5 + 0.5) / 4, kFloat);
  EXPECT_NEAR(value("confidence"), value("max_weight"), kFloat);
  EXPECT_NEAR(value("previous_token"), (0.5 + 0.25 + 0.25) / 3, kFloat);
  EXPECT_NEAR(value("duplicate_token"), (0.25 + 0.75) / 2, kFloat);  // rows 2 and 3
  EXPECT_NEAR(value("induction"), (0.25 + 0.25) / 2, kFloat);        // key 1; keys 1 and 3
  EXPECT_NEAR(value("mean_distance"), (0 + 0.5 + 0.75 + 2.25) / 4, kFloat);
  EXPECT_NEAR(head.score("mean_distance").chance, (0 + 0.5 + 1 + 1.5) / 4, 1e-12);
  EXPECT_NEAR(value("sink"), (1 + 0.5 + 0.25 + 0.5) / 4, kFloat);
  EXPECT_EQ(head.sink_key, 0);
  EXPECT_NEAR(head.score("sink").chance, (1 + 1.0 / 2 + 1.0 / 3 + 1.0 / 4) / 4, 1e-12);
  EXPECT_NEAR(value("effective_df"), 1 + 0.5 + 0.5 + 0, kFloat);
  EXPECT_NEAR(value("effective_sample"), (1 + 2 + 1 / 0.375 + 1 / 0.375) / 4, kFloat);
  EXPECT_NEAR(value("identity"), 0.5, kFloat);
  EXPECT_NEAR(value("local"), 1.0, kFloat);
  EXPECT_EQ(head.score("variability").rows, 0);
  // TransformerLens: all weights in the denominator; 1 - sum |A - pattern| / T.
  EXPECT_NEAR(value("previous_token_tl"), 1.0 / 4, kFloat);
  EXPECT_NEAR(value("duplicate_token_tl"), 1.0 / 4, kFloat);
  EXPECT_NEAR(value("induction_tl"), 0.5 / 4, kFloat);
  EXPECT_NEAR(value("previous_token_tl_abs"), 1 - (1 + 1 + 1.5 + 1.5) / 4, kFloat);
  EXPECT_NEAR(value("duplicate_token_tl_abs"), 1 - (1 + 1 + 1.5 + (0.5 + 0.25 + 0.75)) / 4, kFloat);
  EXPECT_NEAR(value("induction_tl_abs"), 1 - (1 + 1 + 1.5 + (0.5 + 0.75 + 0.25 + 1)) / 4, kFloat);
}

TEST(HeadScores, AreAtChanceForUniformWeights) {
  for (const bool causal : {false, true}) {
    test::MapsOptions options{.samples = 5, .tokens = 9, .causal = causal, .padded = true};
    HeadReaderOptions weights;
    weights.row_importance = {std::vector<double>(18, 1.0)};
    HeadReader reader(weights);
    reader.fit(test::maps_of({{}, {}}, options));
    reader.judge(test::maps_of({{}, {}}, options));
    const std::vector<HeadReport> reports = reader.reports();
    for (const NamedScore& score : reports[0].scores) {
      if (score.name == "variability") continue;  // inputs of other lengths have other uniform weights
      EXPECT_GT(score.score.rows, 0) << score.name;
      EXPECT_NEAR(score.score.value, score.score.chance, kFloat) << score.name;
    }
  }
}

TEST(HeadScores, VariabilityIsHalfTheDistanceToTheMean) {
  HeadReader reader({});
  reader.fit(one_input({1, 0, 1, 0}, 1, 2));
  reader.fit(one_input({0, 1, 1, 0}, 1, 2));
  reader.judge(one_input({1, 0, 1, 0}, 1, 2));
  const Score variability = reader.reports()[0].score("variability");
  EXPECT_NEAR(variability.value, (0.5 + 0.0) / 2, kFloat);
  EXPECT_EQ(variability.rows, 2);
}

TEST(HeadScores, ConfidenceLeavesAnEndTokenOut) {
  AttentionMaps maps = one_input({0.3F, 0, 0.7F, 0, 0.4F, 0.6F, 0, 0, 1}, 1, 3);
  maps.tokens = {{"a", "b", "</s>"}};
  EXPECT_NEAR(read(maps)[0].score("confidence").value, (0.3 + 0.4) / 2, kFloat);
  EXPECT_NEAR(read(maps)[0].score("max_weight").value, (0.7 + 0.6 + 1.0) / 3, kFloat);
  maps.tokens = {{"a", "b", "c"}};
  EXPECT_NEAR(read(maps)[0].score("confidence").value, (0.7 + 0.6 + 1.0) / 3, kFloat);
}

TEST(HeadScores, SimilarityIsTheJensenShannonDivergence) {
  const HeadReport head = read(one_input({1, 0, 0.5F, 0.5F, 0, 1, 0.5F, 0.5F}, 2, 2)).front();
  EXPECT_NEAR(head.score("similarity").value, (std::log(2.0) + 0.0) / 2, kFloat);
  EXPECT_EQ(head.like_head, 1);
}

/// A head whose scores give no label, to be changed.
HeadReport plain() {
  HeadReport head;
  for (std::size_t score = 0; score < kHeadScores; ++score) {
    head.scores.push_back({std::string(score_name(static_cast<HeadScore>(score))), {}});
  }
  return head;
}

HeadReport with(const std::string& name, double value, double chance) {
  HeadReport head = plain();
  for (NamedScore& score : head.scores) {
    if (score.name == name) score.score = {.value = value, .rows = 1, .chance = chance};
  }
  return head;
}

TEST(Labels, HoldAboveTheirThresholds) {
  EXPECT_TRUE(labels_of(plain()).empty());
  const auto label = [](const std::string& name, double value, double chance) {
    const std::vector<std::string> labels = labels_of(with(name, value, chance));
    return labels.empty() ? "" : labels.front();
  };
  EXPECT_EQ(label("entropy_normalised", 0.951, 1), "uniform");
  EXPECT_EQ(label("entropy_normalised", 0.949, 1), "");
  EXPECT_EQ(label("max_weight", 0.951, 0.1), "one-hot");
  EXPECT_EQ(label("max_weight", 1.0, 1.0), "");
  EXPECT_EQ(label("identity", 0.71, 0.1), "identity");
  EXPECT_EQ(label("previous_token", 0.71, 0.1), "previous-token");
  EXPECT_EQ(label("previous_token", 0.71, 0.25), "");
  EXPECT_EQ(label("identity", 0.96, 0.34), "identity") << "three times chance is out of reach";
  EXPECT_EQ(label("identity", 0.94, 0.34), "");
  EXPECT_EQ(label("duplicate_token", 0.69, 0.1), "");
  EXPECT_EQ(label("duplicate_token", 0.71, 0.1), "duplicate-token");
  EXPECT_EQ(label("induction", 0.71, 0.1), "induction");
  EXPECT_EQ(label("sink", 0.41, 0.1), "sink");
  EXPECT_EQ(label("sink", 0.39, 0.1), "");
  EXPECT_EQ(label("local", 0.91, 0.4), "local");
  EXPECT_EQ(label("local", 1.0, 0.95), "");
  EXPECT_EQ(label("similarity", 0.009, 0), "redundant");
  EXPECT_EQ(label("similarity", 0.011, 0), "");

  // The weighted form decides where there is one.
  EXPECT_EQ(label("previous_token_weighted", 0.9, 0.1), "previous-token");
  HeadReport head = with("previous_token", 0.9, 0.1);
  for (NamedScore& score : head.scores) {
    if (score.name == "previous_token_weighted") score.score = {.value = 0.4, .rows = 1, .chance = 0.1};
  }
  EXPECT_TRUE(labels_of(head).empty());
}

TEST(Sentence, SaysWhatAHeadIsAndHowSurely) {
  HeadReport head = plain();
  head.layer = 1;
  head.head = 2;
  head.keys = 16;
  NearestKernel& nearest = head.kernel;
  nearest = {.kernel = {.family = KernelFamily::kGaussian, .slope = -1, .offset = 15, .bandwidth = 0.4},
             .kl = 0.1,
             .kl_uniform = 2.0,
             .explained = 0.97,
             .nature = "positional"};
  EXPECT_EQ(sentence(head), "L1H2 is a mirrored Gaussian, h 0.4, explains 97 %");
  nearest.explained = 0.6;
  EXPECT_EQ(sentence(head), "L1H2 is partly a mirrored Gaussian, h 0.4, explains 60 %");
  nearest.kernel = {.family = KernelFamily::kSameToken};
  nearest.explained = 0.12;
  EXPECT_EQ(sentence(head), "L1H2 is no kernel tried: a same-token kernel explains 12 %");
  nearest.kl_uniform = 0.03;
  EXPECT_EQ(sentence(head), "L1H2 is no kernel tried: a same-token kernel explains 12 % (nearly uniform)");
  nearest.kernel = {};
  EXPECT_EQ(sentence(head), "L1H2 is no kernel tried: none explains anything (nearly uniform)");
  nearest.nature = "uniform";
  head.stack = Stack::kCross;
  EXPECT_EQ(sentence(head), "C1H2 is uniform");
}

}  // namespace
}  // namespace headtorch::probe
