#include "train/circuits.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "src/core/error.hpp"
#include "tests/support/model_file.hpp"

namespace headtorch::train {
namespace {

constexpr std::int64_t kSymbols = 10;

RunConfig config_of(std::int64_t layers, std::int64_t heads, std::int64_t width, nn::NormPlace norm) {
  RunConfig config = default_config("reverse");
  config.model.n_layers = layers;
  config.model.n_heads = heads;
  config.model.d_model = width;
  config.model.d_ff = 0;
  config.model.position = nn::Position::kNone;
  config.model.norm = norm;
  return config;
}

probe::Circuits circuits_of(const RunConfig& config, const test::ModelFile& file) {
  return read_circuits(config, *tasks::make_task(config.task, 1), file.bytes());
}

/// Tokens as unit vectors, which the only head passes on times `sign`, and the output reads as it finds them.
test::ModelFile copier(const RunConfig& config, float sign) {
  test::ModelFile file(config, kSymbols, kSymbols);
  for (std::int64_t i = 0; i < kSymbols; ++i) {
    file.at("embedding.weight", i, i) = 1.0F;
    file.at("output.weight", i, i) = 1.0F;
    file.at("encoder.layers.0.attention.in_proj_weight", 2 * kSymbols + i, i) = 1.0F;
    file.at("encoder.layers.0.attention.out_proj.weight", i, i) = sign;
  }
  return file;
}

class Copying : public testing::TestWithParam<nn::NormPlace> {};

TEST_P(Copying, is_one_for_the_identity_and_minus_one_for_its_negative) {
  const RunConfig config = config_of(1, 1, kSymbols, GetParam());
  EXPECT_NEAR(circuits_of(config, copier(config, 1.0F)).copying.at(0), 1.0, 1e-9);
  EXPECT_NEAR(circuits_of(config, copier(config, -2.0F)).copying.at(0), -1.0, 1e-9);
}

TEST_P(Copying, is_zero_for_a_rotation) {
  const RunConfig config = config_of(1, 1, kSymbols, GetParam());
  test::ModelFile file(config, kSymbols, kSymbols);
  for (std::int64_t i = 0; i < kSymbols; ++i) {
    file.at("embedding.weight", i, i) = 1.0F;
    file.at("output.weight", i, i) = 1.0F;
    file.at("encoder.layers.0.attention.in_proj_weight", 2 * kSymbols + i, i) = 1.0F;
  }
  // Pairs of differences e0 - e1 and e2 - e3 turned by a right angle: eigenvalues i and -i. They sum to 0
  // over the features, so that a norm's centring changes nothing.
  const auto turn = [&](std::int64_t to, std::int64_t from, float value) {
    file.at("encoder.layers.0.attention.out_proj.weight", to, from) = value;
  };
  for (const auto& [to, from, value] : {std::tuple(2, 0, 1.0F),
                                        {2, 1, -1.0F},
                                        {3, 0, -1.0F},
                                        {3, 1, 1.0F},
                                        {0, 2, -1.0F},
                                        {0, 3, 1.0F},
                                        {1, 2, 1.0F},
                                        {1, 3, -1.0F}}) {
    turn(to, from, value);
  }
  EXPECT_NEAR(circuits_of(config, file).copying.at(0), 0.0, 1e-9);
}
INSTANTIATE_TEST_SUITE_P(Norms, Copying, testing::Values(nn::NormPlace::kPre, nn::NormPlace::kPost));

TEST(Copying, folds_the_gain_of_the_norm_that_is_read_through) {
  const RunConfig pre = config_of(1, 1, kSymbols, nn::NormPlace::kPre);
  test::ModelFile file = copier(pre, 1.0F);
  for (std::int64_t i = 0; i < kSymbols; ++i) file.at("encoder.layers.0.norm1.weight", 0, i) = -1.0F;
  EXPECT_NEAR(circuits_of(pre, file).copying.at(0), -1.0, 1e-9);
}

TEST(Copying, is_not_said_where_labels_are_no_tokens) {
  RunConfig config = config_of(1, 1, kSymbols, nn::NormPlace::kPre);
  config.task.name = "histogram";  // labels are counts, of which there are as many as symbols
  EXPECT_TRUE(std::isnan(circuits_of(config, copier(config, 1.0F)).copying.at(0)));
  config.task.name = "sort";
  EXPECT_NEAR(circuits_of(config, copier(config, 1.0F)).copying.at(0), 1.0, 1e-9);
}

TEST(Copying, of_a_head_that_writes_nothing_is_not_a_number) {
  const RunConfig config = config_of(1, 1, kSymbols, nn::NormPlace::kPre);
  EXPECT_TRUE(std::isnan(circuits_of(config, copier(config, 0.0F)).copying.at(0)));
}

// ---- composition

constexpr std::int64_t kWidth = 4;

/// Two layers of one head of 4 features; the lower one writes feature 0 into `written`, the upper one reads
/// queries from `q`, keys from `k` and values from `v`.
test::ModelFile chain(const RunConfig& config, std::int64_t written, std::int64_t q, std::int64_t k,
                      std::int64_t v) {
  test::ModelFile file(config, kSymbols, kSymbols);
  file.at("encoder.layers.0.attention.in_proj_weight", 2 * kWidth, 0) = 1.0F;
  file.at("encoder.layers.0.attention.out_proj.weight", written, 0) = 3.0F;
  file.at("encoder.layers.1.attention.in_proj_weight", 0, q) = 2.0F;
  file.at("encoder.layers.1.attention.in_proj_weight", kWidth, k) = 1.0F;
  file.at("encoder.layers.1.attention.in_proj_weight", 2 * kWidth, v) = 5.0F;
  file.at("encoder.layers.1.attention.out_proj.weight", 3, 0) = 1.0F;
  return file;
}

TEST(Composition, is_one_in_the_same_direction_and_zero_in_orthogonal_ones) {
  const RunConfig config = config_of(2, 1, kWidth, nn::NormPlace::kPost);
  const auto compose = [&](std::int64_t q, std::int64_t k, std::int64_t v) {
    const probe::Circuits circuits = circuits_of(config, chain(config, 1, q, k, v));
    EXPECT_EQ(circuits.compositions.size(), 1U);
    EXPECT_EQ(circuits.chance, 0.5);
    return circuits.compositions.at(0);
  };
  const probe::Composition by_query = compose(1, 2, 3), by_key = compose(2, 1, 3),
                           by_value = compose(2, 3, 1);
  EXPECT_EQ(by_query.lower, (HeadPlace{0, 0}));
  EXPECT_EQ(by_query.upper, (HeadPlace{1, 0}));
  EXPECT_NEAR(by_query.query, 1.0, 1e-12);
  EXPECT_EQ(by_query.key, 0.0);
  EXPECT_EQ(by_query.value, 0.0);
  EXPECT_NEAR(by_key.key, 1.0, 1e-12);
  EXPECT_EQ(by_key.query, 0.0);
  EXPECT_NEAR(by_value.value, 1.0, 1e-12);
  EXPECT_EQ(by_value.key, 0.0);
}

TEST(Composition, is_the_cosine_between_what_is_written_and_read_for_heads_of_rank_one) {
  const RunConfig config = config_of(2, 1, kWidth, nn::NormPlace::kPost);
  test::ModelFile file = chain(config, 1, 2, 3, 1);
  file.at("encoder.layers.1.attention.in_proj_weight", 2 * kWidth, 2) = 12.0F;  // reads 5 e1 + 12 e2
  EXPECT_NEAR(circuits_of(config, file).compositions.at(0).value, 5.0 / 13.0, 1e-9);
}

TEST(Composition, through_a_norm_sees_no_mean_and_each_gain) {
  const RunConfig config = config_of(2, 1, kWidth, nn::NormPlace::kPre);
  test::ModelFile file = chain(config, 1, 2, 3, 1);
  // Centred, the reader of e1 is (-1/4, 3/4, -1/4, -1/4): its cosine with e1 is sqrt(3)/2.
  EXPECT_NEAR(circuits_of(config, file).compositions.at(0).value, std::sqrt(0.75), 1e-9);
  file.at("encoder.layers.1.norm1.weight", 0, 1) = 0.0F;
  EXPECT_TRUE(std::isnan(circuits_of(config, file).compositions.at(0).value)) << "it reads nothing then";
}

TEST(Composition, has_no_queries_and_keys_where_a_kernel_decides) {
  RunConfig config = config_of(2, 1, kWidth, nn::NormPlace::kPost);
  config.model.head_kernels = {{1, 0, {}}};
  const probe::Composition found = circuits_of(config, chain(config, 1, 1, 1, 1)).compositions.at(0);
  EXPECT_TRUE(std::isnan(found.query) && std::isnan(found.key));
  EXPECT_NEAR(found.value, 1.0, 1e-12);
}

TEST(Circuits, of_a_file_that_does_not_fit_are_refused) {
  const RunConfig config = config_of(1, 1, kSymbols, nn::NormPlace::kPre);
  const auto task = tasks::make_task(config.task, 1);
  EXPECT_THROW(
      read_circuits(config_of(2, 1, kSymbols, nn::NormPlace::kPre), *task, copier(config, 1.0F).bytes()),
      DataError);
}

}  // namespace
}  // namespace headtorch::train
