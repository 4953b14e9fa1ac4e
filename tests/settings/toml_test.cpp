#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <string>

#include "src/core/error.hpp"
#include "train/settings/config.hpp"
#include "train/settings/field.hpp"
#include "train/settings/head_kernels.hpp"

namespace headtorch::train {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

RunConfig read(std::string_view text) {
  RunConfig config;
  read_toml(text, "c.toml", config);
  return config;
}

/// The message of the error that reading gives; empty when there is none.
template <typename ErrorType = ConfigError>
std::string error_of(std::string_view text) {
  try {
    read(text);
  } catch (const ErrorType& error) {
    return error.what();
  }
  return {};
}

void expect_equal(const RunConfig& a, const RunConfig& b) {
  for (const Field& field : fields()) EXPECT_EQ(value_of(field, a), value_of(field, b)) << field.name;
}

double random_finite(std::mt19937_64& engine) {
  while (true) {
    const double value = std::bit_cast<double>(engine());
    if (std::isfinite(value)) return value;
  }
}

nn::HeadKernelPlace random_place(std::mt19937_64& engine) {
  nn::HeadKernelPlace place{static_cast<std::int64_t>(engine() % 64),
                            static_cast<std::int64_t>(engine() % 64)};
  place.kernel.family = static_cast<KernelFamily>(engine() % 7);
  place.kernel.eps = std::ldexp(static_cast<double>(engine() >> 11), -53);
  if (place.kernel.family == KernelFamily::kKey)
    place.kernel.key = static_cast<std::int64_t>(engine() % 4096);
  if (place.kernel.family == KernelFamily::kGaussian) {
    place.kernel.slope = random_finite(engine);
    place.kernel.offset = random_finite(engine);
    place.kernel.bandwidth = std::abs(random_finite(engine));
  }
  if (place.kernel.family == KernelFamily::kUniform) place.kernel.eps = 0.0;
  return place;
}

TEST(Toml, round_trip_is_exact_for_every_field) {
  std::mt19937_64 engine(7);
  for (int round = 0; round < 300; ++round) {
    RunConfig config;
    for (const Field& field : fields()) {
      if (const auto* integer = std::get_if<Integer>(&field.kind)) {
        std::uniform_int_distribution<std::int64_t> pick(integer->min, integer->max);
        ASSERT_TRUE(assign(field, pick(engine), config)) << field.name;
      } else if (const auto* real = std::get_if<Real>(&field.kind)) {
        double value = std::abs(random_finite(engine));
        if (real->limit == 1.0) value = std::ldexp(static_cast<double>(engine() >> 11), -53);
        ASSERT_TRUE(assign(field, value, config)) << field.name << " " << value;
      } else if (const auto* list = std::get_if<RealList>(&field.kind)) {
        std::vector<double> values(1 + engine() % 64);
        for (double& v : values)
          v = list->min == 0.0 ? std::abs(random_finite(engine)) : random_finite(engine);
        ASSERT_TRUE(assign(field, values, config)) << field.name;
      } else if (const auto* whole = std::get_if<IntegerList>(&field.kind)) {
        std::uniform_int_distribution<std::int64_t> pick(whole->min, whole->max);
        std::vector<std::int64_t> values(engine() % 5);
        for (std::int64_t& v : values) v = pick(engine);
        ASSERT_TRUE(assign(field, values, config)) << field.name;
      } else if (const auto* choice = std::get_if<Choice>(&field.kind)) {
        ASSERT_TRUE(assign(field, choice->names[engine() % choice->names.size()], config)) << field.name;
      } else if (std::holds_alternative<ScaleFactor>(field.kind)) {
        ASSERT_TRUE(assign(field, std::abs(random_finite(engine)), config));
      } else if (std::holds_alternative<Boolean>(field.kind)) {
        ASSERT_TRUE(assign(field, engine() % 2 == 0, config));
      } else if (std::holds_alternative<KernelList>(field.kind)) {
        std::vector<std::string> texts(engine() % 4);
        for (std::string& text : texts) text = head_kernel_text(random_place(engine));
        ASSERT_TRUE(assign(field, texts, config)) << field.name;
      } else {
        ASSERT_TRUE(assign(field, std::string("a \"b\"\\ \n\t\x01\x7f \u00e4\u4e2d\U0001F600 #="), config));
      }
    }
    expect_equal(read(to_toml(config)), config);
  }
}

TEST(Toml, words_for_scale_and_auto_survive_the_round_trip) {
  RunConfig config;
  config.model.attention.scale.kind = nn::ScaleKind::kLearned;
  EXPECT_THAT(to_toml(config), HasSubstr("threads = \"auto\""));
  EXPECT_EQ(read(to_toml(config)).model.attention.scale.kind, nn::ScaleKind::kLearned);
  EXPECT_EQ(read(to_toml(config)).train.threads, 0);
  EXPECT_EQ(read("[train]\nthreads = 3").train.threads, 3);
}

TEST(Toml, keys_left_out_stay_as_they_were) {
  RunConfig config;
  config.train.lr = 0.5;
  read_toml("[train]\nsteps = 7\n", "c.toml", config);
  EXPECT_EQ(config.train.lr, 0.5);
  EXPECT_EQ(config.train.steps, 7);
}

TEST(Toml, whole_numbers_stand_for_real_ones_and_not_the_reverse) {
  EXPECT_EQ(read("[train]\nclip = 5").train.clip, 5.0);
  EXPECT_THAT(read("[model]\nbandwidth = [1, 2.5]").model.attention.bandwidth,
              testing::ElementsAre(1.0, 2.5));
  EXPECT_THAT(error_of("[train]\nsteps = 600.0"), HasSubstr("train.steps = 600.0, expected an integer"));
}

TEST(Toml, attention_dropout_follows_dropout_unless_the_same_file_gives_it) {
  EXPECT_EQ(read("[model]\ndropout = 0.3").model.attention.attention_dropout, 0.3);
  EXPECT_EQ(read("[model]\nattention_dropout = 0.2\ndropout = 0.3").model.attention.attention_dropout, 0.2);
  EXPECT_EQ(read("[model]\nattention_dropout = 0.2").model.dropout, RunConfig{}.model.dropout);
}

TEST(Toml, errors_name_file_line_key_value_and_what_is_allowed) {
  EXPECT_EQ(error_of("[model]\n\nn_heads = 0\n"),
            "[c.toml:3] model.n_heads = 0, expected an integer from 1 to 64");
  EXPECT_EQ(
      error_of("[train]\nschedule = \"step\""),
      "[c.toml:2] train.schedule = \"step\", expected one of cosine, linear, inverse-sqrt, wsd, constant");
  EXPECT_EQ(error_of("[train]\nlr = true"), "[c.toml:2] train.lr = true, expected a finite number > 0");
  EXPECT_THAT(error_of("[model]\nscale = 1979-05-27"),
              HasSubstr("model.scale = a date or time, expected sqrt, learned or"));
  EXPECT_THAT(error_of("[model]\nbandwidth = [1, \"2\"]"), HasSubstr("model.bandwidth = a list"));
  EXPECT_THAT(error_of("[model.norm]\npre = 1"), HasSubstr("[c.toml:1] model.norm = a table"));
}

TEST(Toml, head_kernels_are_refused_saying_which_and_why) {
  EXPECT_THAT(
      error_of("[model]\nn_heads = 2\nhead_kernels = [\"L0H0 uniform\", \"L0H1 gaus\"]"),
      AllOf(StartsWith("[c.toml:3] model.head_kernels = [\"L0H0 uniform\", \"L0H1 gaus\"]: "),
            HasSubstr("'gaus'"), HasSubstr("expected a list of LxHy KERNEL"), HasSubstr("first-same-token")));
  EXPECT_THAT(error_of("[model]\nhead_kernels = [\"L0H0 gaussian bandwidth -2\"]"),
              HasSubstr("bandwidth is -2"));
  EXPECT_THAT(error_of("[model]\nhead_kernels = [\"H0L0 uniform\"]"),
              HasSubstr("does not start with a head such as L0H1"));
}

TEST(Toml, unknown_keys_are_refused_with_the_nearest_one) {
  EXPECT_EQ(error_of("[model]\nn_head = 4"), "[c.toml:2] model.n_head is no setting, did you mean n_heads?");
  EXPECT_EQ(error_of("[model]\nlr = 4"), "[c.toml:2] model.lr is no setting, did you mean lr in [train]?");
  EXPECT_THAT(error_of("[task]\nxyzxyzxyzxyzxyz = 4"),
              HasSubstr("expected one of name, file, seq_len, n_symbols"));
  EXPECT_EQ(error_of("\n[trian]\nsteps = 4"),
            "[c.toml:2] \"trian\" is no section, expected [task], [model] or [train]");
  EXPECT_EQ(error_of("train = 4"), "[c.toml:1] train is a value, expected a section [train]");
  EXPECT_THAT(error_of("[train]\nsteps.x = 4"), HasSubstr("train.steps = a table"));
}

TEST(Toml, what_is_no_toml_is_bad_data_with_its_line) {
  EXPECT_THAT(error_of<DataError>("[train]\nlr = 1.5abc"), StartsWith("[c.toml:2] is not TOML"));
  EXPECT_THAT(error_of<DataError>("[train]\nlr = 1e400"), StartsWith("[c.toml:2] is not TOML"));
  EXPECT_THAT(error_of<DataError>("[train]\nlr = 1\nlr = 2"), StartsWith("[c.toml:3] is not TOML"));
  EXPECT_THAT(error_of<DataError>("[train]\nlr = \"\xff\""), StartsWith("[c.toml:2] is not TOML"));
  EXPECT_THAT(error_of<DataError>(std::string("\0\0\0", 3)), StartsWith("[c.toml:1] is not TOML"));
  EXPECT_THAT(error_of<DataError>(std::string(100'000, '#')), HasSubstr("has 100000 bytes"));
}

TEST(Toml, nothing_changes_when_a_file_is_refused) {
  RunConfig config;
  EXPECT_THROW(read_toml("[train]\nsteps = 5\nlr = -1", "c.toml", config), ConfigError);
  expect_equal(config, RunConfig{});
}

TEST(Toml, very_deep_keys_and_brackets_are_refused_without_a_crash) {
  std::string key = "[";
  for (int i = 0; i < 30'000; ++i) key += "a.";
  EXPECT_THAT(error_of<DataError>(key + "a]"), HasSubstr("dots"));
  EXPECT_THAT(error_of<DataError>("a = " + std::string(60'000, '[')), HasSubstr("is not TOML"));
  std::string allowed_depth = "[";
  for (int i = 0; i < 3'900; ++i) allowed_depth += "a.";
  EXPECT_THAT(error_of(allowed_depth + "a]"), HasSubstr("\"a\" is no section"));
}

struct Range {
  const char* key;
  std::vector<const char*> good, bad;
};

TEST(Toml, every_key_has_its_range) {
  const std::vector<Range> ranges = {
      {"task.name", {"\"reverse\""}, {"1", "true"}},
      {"task.file", {"\"a/b.txt\""}, {"1", "[1.0]"}},
      {"task.seq_len", {"\"auto\"", "1", "4096"}, {"0", "-1", "4097", "\"some\""}},
      {"task.n_symbols", {"\"auto\"", "2", "100000"}, {"0", "1", "100001"}},
      {"task.n_pairs", {"\"auto\"", "1", "4096"}, {"0", "4097"}},
      {"task.digit_order", {"\"reversed\"", "\"plain\""}, {"\"big\"", "1"}},
      {"task.operation", {"\"add\"", "\"subtract\"", "\"multiply\"", "\"divide\""}, {"\"power\""}},
      {"task.column", {"\"\"", "\"sunspots\""}, {"1"}},
      {"task.lags", {"\"auto\"", "1", "1024"}, {"0", "1025"}},
      {"task.horizon", {"\"auto\"", "1", "10000"}, {"0", "10001"}},
      {"task.attend", {"\"lags\"", "\"rows\""}, {"\"columns\""}},
      {"task.target", {"\"\"", "\"y\""}, {"1"}},
      {"task.leave_out", {"\"\"", "\"a,b\""}, {"[\"a\"]"}},
      {"task.missing", {"\"refuse\"", "\"drop\""}, {"\"fill\"", "0"}},
      {"model.family", {"\"encoder\"", "\"causal\"", "\"encoder-decoder\""}, {"\"Causal\"", "\"\"", "1"}},
      {"model.n_layers", {"1", "64"}, {"0", "65"}},
      {"model.n_heads", {"1", "64"}, {"0", "65", "\"auto\""}},
      {"model.d_model", {"1", "4096"}, {"0", "4097"}},
      {"model.d_ff", {"0", "16384"}, {"-1", "16385"}},
      {"model.dropout", {"0", "0.999"}, {"1", "-0.1", "nan", "inf"}},
      {"model.attention_dropout", {"0", "0.999"}, {"1.0", "-0.1", "nan"}},
      {"model.score_dropout", {"0", "0.999"}, {"1.0", "-0.1", "nan"}},
      {"model.position",
       {"\"none\"", "\"sinusoidal\"", "\"learned\"", "\"relative\"", "\"alibi\"", "\"rope\"",
        "\"learned-window\""},
       {"\"absolute\"", "0"}},
      {"model.position_norm", {"true", "false"}, {"1", "\"true\""}},
      {"model.norm", {"\"pre\"", "\"post\""}, {"\"both\""}},
      {"model.norm_kind", {"\"layer\"", "\"rms\""}, {"\"batch\""}},
      {"model.activation", {"\"gelu\"", "\"relu\"", "\"swiglu\""}, {"\"tanh\""}},
      {"model.init", {"\"xavier\"", "\"he\"", "\"normal\""}, {"\"zero\""}},
      {"model.qk_gain", {"0.01", "1e30"}, {"0", "-1", "inf"}},
      {"model.score",
       {"\"dot\"", "\"uniform\"", "\"self\"", "\"fixed-gaussian\"", "\"fixed-exponential\"", "\"same-token\"",
        "\"untrained-gaussian\"", "\"raw-dot\"", "\"gaussian\"", "\"cosine\"", "\"additive\"", "\"linear\""},
       {"\"laplace\""}},
      {"model.scale", {"\"sqrt\"", "\"learned\"", "0.125", "1"}, {"0", "-1", "\"one\"", "nan", "[1.0]"}},
      {"model.qk_norm", {"true", "false"}, {"1"}},
      {"model.window", {"0", "4"}, {"-1"}},
      {"model.hide_token", {"\"\"", "\"3 1\""}, {"3"}},
      {"model.output_weight", {"\"own\"", "\"embedding\""}, {"\"tied\""}},
      {"model.bandwidth", {"1", "0.5", "[1, 2.0]"}, {"0", "[]", "[1, -1]", "inf", "[nan]"}},
      {"model.kernel_slope", {"-1", "0", "[1, -1]"}, {"inf", "[]", "\"1\""}},
      {"model.kernel_offset", {"-3", "15", "[0, 2.5]"}, {"nan", "[]", "[[1]]"}},
      {"model.head_kernels",
       {"[]", "[\"L0H1 uniform\"]",
        "[\"L63H0 one-key key 3\", \"L0H0 gaussian slope -1 offset 15 bandwidth .4\"]"},
       {"[1]", "\"none\"", "\"L0H1 uniform\"", "[\"L0H1 uniform\", 1]", "[\"\"]", "[\"L0H1\"]",
        "[\"uniform\"]", "[\"L0H-1 uniform\"]", "[\"L0H1 nearest\"]", "[\"L0H1 gaussian bandwidth 0\"]",
        "[\"L0H1 same-token eps 2\"]", "[\"L0H1 same-token eps\"]"}},
      {"train.steps", {"1", "1000000000"}, {"0", "1000000001", "1.0"}},
      {"train.batch", {"1", "65536"}, {"0", "65537"}},
      {"train.accumulate", {"1", "1024"}, {"0", "1025"}},
      {"train.lr", {"1e-300", "1e30"}, {"0", "-1", "inf", "nan", "\"1\""}},
      {"train.min_lr", {"0", "1e-4"}, {"-1e-9", "inf"}},
      {"train.warmup", {"0", "50"}, {"-1"}},
      {"train.schedule",
       {"\"cosine\"", "\"linear\"", "\"inverse-sqrt\"", "\"wsd\"", "\"constant\""},
       {"\"noam\""}},
      {"train.clip", {"0", "1.5"}, {"-1", "nan"}},
      {"train.entropy_weight", {"0", "0.01"}, {"-0.1", "nan", "inf"}},
      {"train.label_smoothing", {"0", "0.1"}, {"1", "-0.1"}},
      {"train.patience", {"0", "3"}, {"-1"}},
      {"train.precision", {"\"float32\"", "\"bfloat16\"", "\"float16\""}, {"\"float64\""}},
      {"train.engine", {"\"auto\"", "\"modules\""}, {"\"kernels\"", "true"}},
      {"train.recompute", {"true", "false"}, {"0"}},
      {"train.eval_lengths", {"[]", "[16, 32]"}, {"[0]", "16", "[4097]", "[1.5]"}},
      {"train.weight_decay", {"0", "1"}, {"-1"}},
      {"train.beta2", {"0", "0.999"}, {"1", "-0.5"}},
      {"train.seed", {"0", "9007199254740992"}, {"-1", "9007199254740993"}},
      {"train.device", {"\"auto\"", "\"cpu\"", "\"cuda\""}, {"\"tpu\""}},
      {"train.threads", {"\"auto\"", "1", "256"}, {"0", "257"}},
      {"train.eval_every", {"0", "10"}, {"-1"}},
      {"train.heatmap_every", {"0", "10"}, {"-1"}},
      {"train.checkpoint_every", {"0", "10"}, {"-1"}},
  };
  EXPECT_EQ(ranges.size(), fields().size()) << "a setting without a test of its range";
  for (const Range& range : ranges) {
    for (const char* value : range.good) {
      EXPECT_NO_THROW(read(std::string(range.key) + " = " + value)) << range.key << " = " << value;
    }
    for (const char* value : range.bad) {
      EXPECT_THROW(read(std::string(range.key) + " = " + value), ConfigError) << range.key << " = " << value;
    }
  }
}

/// Bytes of a valid file, changed, cut and joined at random: refused or read, and what is read can be written
/// again.
TEST(Toml, random_damage_never_crashes) {
  const std::string valid = to_toml(RunConfig{});
  const std::string alphabet = "[]{}=\"'.,#\n\\u0019aextrue-+ \t\xff\xc3";
  std::mt19937 engine(11);
  for (int round = 0; round < 3'000; ++round) {
    std::string text = valid.substr(0, engine() % valid.size());
    for (unsigned changes = engine() % 8; changes > 0 && !text.empty(); --changes) {
      const std::size_t at = engine() % text.size();
      const char byte = alphabet[engine() % alphabet.size()];
      if (engine() % 2 == 0) {
        text[at] = byte;
      } else {
        text.insert(at, 1 + engine() % 3, byte);
      }
    }
    try {
      const RunConfig config = read(text);
      expect_equal(read(to_toml(config)), config);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), StartsWith("[c.toml"));
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace headtorch::train
