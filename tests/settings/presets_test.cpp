#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "src/core/error.hpp"
#include "train/settings/config.hpp"

namespace headtorch::train {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

template <typename ErrorType>
std::string error_of(const RunConfig& config) {
  try {
    check(config);
  } catch (const ErrorType& error) {
    return error.what();
  }
  return {};
}

TEST(Presets, each_one_is_a_valid_run_of_its_task) {
  for (const std::string& name : preset_names()) {
    RunConfig named;
    read_toml(preset_text(name), name, named);
    RunConfig config = default_config(named.task.name.empty() ? "reverse" : named.task.name);
    read_toml(preset_text(name), name, config);
    if (config.task.name == "text") config.task.file = "any.txt";
    EXPECT_NO_THROW(check(config)) << name;
  }
}

TEST(Presets, there_is_one_for_every_task_and_the_published_ones) {
  const std::vector<std::string> names = preset_names();
  for (const auto& task : tasks::describe_tasks()) EXPECT_THAT(names, Contains(task.name));
  for (const char* name : {"reverse-published", "sort-published", "text-small", "reference"}) {
    EXPECT_THAT(names, Contains(name));
  }
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
}

TEST(Presets, an_unknown_name_is_refused_with_the_known_ones) {
  try {
    preset_text("revers");
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("\"revers\" is unknown, expected one of add, copy"));
  }
}

TEST(Presets, reverse_by_default_is_what_the_issue_asks_for) {
  const RunConfig config = default_config("reverse");
  EXPECT_EQ(config.task.name, "reverse");
  EXPECT_EQ(config.model.n_layers, 2);
  EXPECT_EQ(config.model.n_heads, 2);
  EXPECT_EQ(config.model.d_model, 64);
  EXPECT_EQ(config.model.dropout, 0.1);
  EXPECT_EQ(config.model.attention.attention_dropout, 0.1);
  EXPECT_GT(config.train.warmup, 0);
  EXPECT_EQ(config.train.schedule, Schedule::kCosine);
  EXPECT_EQ(config.train.clip, 1.0);
}

TEST(Presets, text_small_has_the_sizes_of_nanogpt_on_a_cpu) {
  RunConfig config = default_config("text");
  read_toml(preset_text("text-small"), "text-small", config);
  EXPECT_EQ(config.model.n_layers, 4);
  EXPECT_EQ(config.model.n_heads, 4);
  EXPECT_EQ(config.model.d_model, 128);
  EXPECT_EQ(config.task.seq_len, 64);
  EXPECT_EQ(config.train.batch, 12);
  EXPECT_EQ(config.train.steps, 2000);
  EXPECT_EQ(config.train.lr, 3e-3);
  EXPECT_EQ(config.model.attention.attention_dropout, 0.0);
}

TEST(Presets, order_is_default_then_preset_then_file_then_flag) {
  RunConfig config = default_config("reverse");
  const double built_in = config.train.weight_decay;
  read_toml(preset_text("reverse-published"), "preset", config);
  EXPECT_EQ(config.train.clip, 5.0);
  read_toml("[train]\nclip = 6\nsteps = 40\n[model]\ndropout = 0.2", "file", config);
  set_flag("steps", "41", config);
  EXPECT_EQ(config.train.clip, 6.0);
  EXPECT_EQ(config.train.steps, 41);
  EXPECT_EQ(config.model.attention.attention_dropout, 0.2);
  EXPECT_EQ(config.model.n_heads, 1);
  EXPECT_NE(config.train.weight_decay, built_in);
  EXPECT_EQ(config.train.seed, RunConfig{}.train.seed);
}

TEST(Check, unknown_task_lists_the_known_ones) {
  EXPECT_THROW(default_config("revers"), UsageError);
  RunConfig config = default_config("reverse");
  config.task.name = "revers";
  EXPECT_THAT(error_of<UsageError>(config), HasSubstr("expected one of reverse"));
}

TEST(Check, G42_heads_that_do_not_divide_the_width_are_named_with_it) {
  RunConfig config = default_config("reverse");
  config.model.d_model = 30;
  config.model.n_heads = 4;
  EXPECT_THAT(error_of<ConfigError>(config), HasSubstr("n_heads = 4 does not divide d_model = 30"));
}

TEST(Check, kernel_lists_have_one_value_or_one_a_head) {
  RunConfig config = default_config("reverse");
  config.model.attention.kernel_offset = {1.0, 2.0};
  EXPECT_NO_THROW(check(config));
  config.model.attention.kernel_offset = {1.0, 2.0, 3.0};
  EXPECT_THAT(error_of<ConfigError>(config), HasSubstr("kernel_offset] has 3 values with n_heads = 2"));
}

TEST(Check, head_kernels_are_for_heads_that_exist_and_given_once) {
  RunConfig config = default_config("reverse");
  config.model.head_kernels = {{1, 1, {}}, {0, 0, {}}};
  EXPECT_NO_THROW(check(config));
  config.model.attention.score = nn::Score::kUniform;
  EXPECT_NO_THROW(check(config));
  config.model.head_kernels = {{2, 0, {}}};
  EXPECT_THAT(error_of<ConfigError>(config),
              HasSubstr("L2H0 is not in a model of n_layers = 2 and n_heads = 2, expected L0H0 to L1H1"));
  config.model.head_kernels = {{0, 2, {}}};
  EXPECT_THAT(error_of<ConfigError>(config), HasSubstr("L0H2 is not in a model"));
  config.model.head_kernels = {{0, 1, {}}, {0, 1, {.family = KernelFamily::kInduction}}};
  EXPECT_THAT(error_of<ConfigError>(config), HasSubstr("L0H1 is given twice"));
}

TEST(Check, the_family_fits_how_the_task_is_read) {
  RunConfig config = default_config("reverse");
  config.model.family = models::Family::kCausal;
  EXPECT_THAT(error_of<ConfigError>(config), HasSubstr("family = causal does not fit task reverse"));
  config = default_config("induction");
  EXPECT_EQ(config.model.family, models::Family::kCausal);
  config.model.family = models::Family::kEncoder;
  EXPECT_THAT(error_of<ConfigError>(config), HasSubstr("family = encoder does not fit task induction"));
}

TEST(Check, the_last_rate_is_not_above_the_peak) {
  RunConfig config = default_config("reverse");
  config.train.min_lr = 0.1;
  EXPECT_THAT(error_of<ConfigError>(config), HasSubstr("min_lr = 0.1 is above lr = 0.003"));
}

TEST(Check, a_warmup_longer_than_the_run_is_allowed) {
  RunConfig config = default_config("reverse");
  config.train.warmup = config.train.steps + 1;
  EXPECT_NO_THROW(check(config));
}

TEST(Advice, A10_features_a_head_outside_32_to_128) {
  RunConfig config = default_config("reverse");
  EXPECT_THAT(advice(config), IsEmpty());
  config.model.n_heads = 4;
  EXPECT_THAT(advice(config), SizeIs(1));
  EXPECT_THAT(advice(config).front(), HasSubstr("16 features a head (64 / 4): below 32"));
  config.model.d_model = 1024;
  EXPECT_THAT(advice(config).front(), HasSubstr("256 features a head (1024 / 4): above 128"));
  config.model.d_model = 512;
  EXPECT_THAT(advice(config), IsEmpty());
}

}  // namespace
}  // namespace headtorch::train
