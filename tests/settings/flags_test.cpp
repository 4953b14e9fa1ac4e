#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "src/core/error.hpp"
#include "train/settings/config.hpp"

namespace headtorch::train {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

RunConfig with(std::string_view name, std::string_view value) {
  RunConfig config;
  set_flag(name, value, config);
  return config;
}

ExitCode code_of(std::string_view name, std::string_view value) {
  try {
    with(name, value);
  } catch (const Error& error) {
    return error.code();
  }
  return ExitCode::kDone;
}

TEST(Flags, values_of_each_kind) {
  EXPECT_EQ(with("n_heads", "8").model.n_heads, 8);
  EXPECT_EQ(with("lr", "1e-3").train.lr, 1e-3);
  EXPECT_EQ(with("schedule", "inverse-sqrt").train.schedule, Schedule::kInverseSqrt);
  EXPECT_TRUE(with("position_norm", "true").model.position_norm);
  EXPECT_EQ(with("file", "a b.txt").task.file, "a b.txt");
  EXPECT_EQ(with("threads", "auto").train.threads, 0);
  EXPECT_EQ(with("scale", "0.25").model.attention.scale.number, 0.25);
  EXPECT_EQ(with("scale", "0.25").model.attention.scale.kind, nn::ScaleKind::kNumber);
  EXPECT_THAT(with("kernel_offset", "1,-2.5, 3").model.attention.kernel_offset, ElementsAre(1.0, -2.5, 3.0));
}

TEST(Flags, G16_a_rate_of_1e30_can_be_asked_for) { EXPECT_EQ(with("lr", "1e30").train.lr, 1e30); }

TEST(Flags, text_that_cannot_be_read_is_usage) {
  EXPECT_EQ(code_of("lr", "abc"), ExitCode::kUsage);
  EXPECT_EQ(code_of("lr", "1.5abc"), ExitCode::kUsage);
  EXPECT_EQ(code_of("lr", ""), ExitCode::kUsage);
  EXPECT_EQ(code_of("n_heads", "0x10"), ExitCode::kUsage);
  EXPECT_EQ(code_of("n_heads", "2.0"), ExitCode::kUsage);
  EXPECT_EQ(code_of("bandwidth", "1,,2"), ExitCode::kUsage);
  EXPECT_EQ(code_of("bandwidth", ""), ExitCode::kUsage);
  EXPECT_EQ(code_of("scale", "root"), ExitCode::kUsage);
  EXPECT_EQ(code_of("position_norm", "yes"), ExitCode::kUsage);
  EXPECT_EQ(code_of("file", "\xff.txt"), ExitCode::kUsage);
}

TEST(Flags, G41_a_choice_outside_its_list_is_usage) {
  EXPECT_EQ(code_of("device", "tpu"), ExitCode::kUsage);
  try {
    with("device", "tpu");
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "[--device] \"tpu\" cannot be read, expected one of auto, cpu, cuda");
  }
}

TEST(Flags, a_value_that_is_not_allowed_is_bad_configuration) {
  EXPECT_EQ(code_of("lr", "-1"), ExitCode::kBadConfig);
  EXPECT_EQ(code_of("lr", "nan"), ExitCode::kBadConfig);
  EXPECT_EQ(code_of("lr", "1e400"), ExitCode::kBadConfig);
  EXPECT_EQ(code_of("seed", "99999999999999999999"), ExitCode::kBadConfig);
  EXPECT_EQ(code_of("n_symbols", "1"), ExitCode::kBadConfig);
  EXPECT_EQ(code_of("scale", "0"), ExitCode::kBadConfig);
  EXPECT_EQ(code_of("bandwidth", "1,0"), ExitCode::kBadConfig);
}

TEST(Flags, a_kernel_list_has_at_most_64_values) {
  std::string values = "1";
  for (int i = 1; i < 64; ++i) values += ",1";
  EXPECT_EQ(code_of("bandwidth", values), ExitCode::kDone);
  EXPECT_EQ(code_of("bandwidth", values + ",1"), ExitCode::kBadConfig);
}

TEST(Flags, head_kernels_are_separated_by_commas) {
  const auto places =
      with("head_kernels", "L0H1 gaussian slope -1 offset 15 bandwidth 0.4 eps 0.02, L1H0  induction eps 0.1")
          .model.head_kernels;
  const HeadKernel mirrored{
      .family = KernelFamily::kGaussian, .slope = -1.0, .offset = 15.0, .bandwidth = 0.4, .eps = 0.02};
  EXPECT_THAT(places,
              ElementsAre(nn::HeadKernelPlace{0, 1, mirrored},
                          nn::HeadKernelPlace{1, 0, {.family = KernelFamily::kInduction, .eps = 0.1}}));
  RunConfig config;
  config.model.head_kernels = places;
  set_flag("head_kernels", "none", config);
  EXPECT_TRUE(config.model.head_kernels.empty());
}

TEST(Flags, head_kernels_that_cannot_be_read_are_usage_and_wrong_numbers_are_not) {
  for (const char* text :
       {"", "L0H1", "L0 uniform", "uniform", "L0H1 nearest", "L0H1 uniform,", "L0H1 uniform eps 0",
        "L0H1 gaussian bandwidth wide", "L0H1 gaussian bandwidth 1 bandwidth 1", "L0H1uniform"}) {
    EXPECT_EQ(code_of("head_kernels", text), ExitCode::kUsage) << text;
  }
  for (const char* text : {"L0H1 gaussian bandwidth 0", "L0H1 gaussian bandwidth -1e400",
                           "L0H1 induction eps 1.5", "L0H1 one-key key -1", "L0H1 gaussian offset nan"}) {
    EXPECT_EQ(code_of("head_kernels", text), ExitCode::kBadConfig) << text;
  }
}

TEST(Flags, the_message_shows_the_flag_as_typed) {
  try {
    with("min_lr", "-1");
    FAIL() << "accepted";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "[--min-lr] -1 is not allowed, expected a finite number >= 0");
  }
}

TEST(Flags, the_task_is_an_argument_and_no_flag) {
  EXPECT_EQ(code_of("name", "sort"), ExitCode::kUsage);
  EXPECT_EQ(code_of("no_such", "1"), ExitCode::kUsage);
}

TEST(Flags, dropout_comes_before_attention_dropout) {
  std::vector<std::string> names;
  for (const Setting& setting : settings()) names.push_back(setting.name);
  EXPECT_LT(std::find(names.begin(), names.end(), "dropout"),
            std::find(names.begin(), names.end(), "attention_dropout"));
  RunConfig config = with("dropout", "0.4");
  EXPECT_EQ(config.model.attention.attention_dropout, 0.4);
  set_flag("attention_dropout", "0", config);
  EXPECT_EQ(config.model.dropout, 0.4);
  EXPECT_EQ(config.model.attention.attention_dropout, 0.0);
}

TEST(Flags, every_setting_says_what_it_is_for_and_what_it_allows) {
  for (const Setting& setting : settings()) {
    EXPECT_FALSE(setting.help.empty()) << setting.name;
    EXPECT_FALSE(setting.allowed.empty()) << setting.name;
  }
}

TEST(Check, what_a_score_cannot_use_is_refused) {
  RunConfig config = default_config("reverse");
  for (const nn::Score score : {nn::Score::kGaussian, nn::Score::kAdditive, nn::Score::kUniform}) {
    config.model.attention.score = score;
    config.model.attention.scale = {};
    EXPECT_NO_THROW(check(config));
    for (const nn::ScaleKind kind : {nn::ScaleKind::kNumber, nn::ScaleKind::kLearned}) {
      config.model.attention.scale = {kind, 2.0};
      EXPECT_THROW(check(config), ConfigError);
    }
  }
  config.model.attention.scale = {};
  config.model.attention.qk_norm = true;
  EXPECT_THROW(check(config), ConfigError);
  config.model.attention.score = nn::Score::kGaussian;
  EXPECT_NO_THROW(check(config));
  config.model.attention.score = nn::Score::kLinear;
  config.model.position = nn::Position::kAlibi;
  EXPECT_THROW(check(config), ConfigError);
  config.model.attention = {};
  config.model.attention.score = nn::Score::kUniform;
  config.model.position = nn::Position::kRope;
  EXPECT_THROW(check(config), ConfigError);
}

}  // namespace
}  // namespace headtorch::train
