// The leak probe on models with windows, hidden tokens and a source: it is silent where nothing leaks, and
// finds what was planted.

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/train/untrained.hpp"
#include "train/batch.hpp"
#include "train/leak_probe.hpp"

namespace headtorch::train {
namespace {

using torch::Tensor;

constexpr std::int64_t kExamples = 2;

LeakReport probe(const Untrained& made, LeakDepth depth = LeakDepth::kThorough,
                 const nn::LayerEdit& edit = {}) {
  const tasks::Batch batch = default_inputs(*made.task, kExamples);
  return probe_leaks(made.model, to_tensors(batch, torch::kCPU).input, made.task->shape().n_symbols, depth,
                     edit);
}

/// Adds weight from a query to a key in one place's first head.
nn::LayerEdit planted(std::int64_t place, std::int64_t query, std::int64_t key) {
  return [=](std::int64_t at, const Tensor& pattern_BHTS) {
    if (at != place) return pattern_BHTS;
    Tensor one = torch::zeros_like(pattern_BHTS.detach()[0][0]);
    one[query][key] = 0.25;
    Tensor edited = pattern_BHTS.clone();
    edited.select(1, 0).add_(one);
    return edited;
  };
}

const LeakCheck* found(const LeakReport& report, const std::string& place, const std::string& form) {
  for (const LeakCheck& check : report.checks) {
    if (check.place == place && check.form == form && check.mode == "evaluation" && check.largest > 0.0)
      return &check;
  }
  return nullptr;
}

bool any_of(const LeakReport& report, const std::string& place) {
  return std::any_of(report.checks.begin(), report.checks.end(),
                     [&](const LeakCheck& check) { return check.place.starts_with(place); });
}

std::string worst(const LeakReport& report) {
  const LeakCheck* check = report.worst();
  return check == nullptr ? "none" : check->place + ", " + check->form + ", " + check->mode;
}

TEST(LeakFamilies, an_encoder_decoder_does_not_leak_whatever_its_score) {
  for (const nn::Score score : {nn::Score::kDot, nn::Score::kGaussian, nn::Score::kCosine,
                                nn::Score::kAdditive, nn::Score::kLinear, nn::Score::kFixedGaussian}) {
    RunConfig config = small_config("dates", models::Family::kEncoderDecoder);
    config.model.attention.score = score;
    const LeakReport report = probe(untrained(config));
    EXPECT_FALSE(report.may_look_ahead);
    EXPECT_TRUE(report.finite);
    EXPECT_FALSE(report.leaks()) << nn::kScoreNames[static_cast<std::size_t>(score)] << ": " << worst(report);
    for (const std::string place :
         {"decoder layer 0", "decoder layer 1", "cross layer 0", "cross layer 1", "logits"})
      EXPECT_TRUE(any_of(report, place)) << place << " was not looked at";
    EXPECT_FALSE(any_of(report, "encoder")) << "it may look ahead";
  }
}

TEST(LeakFamilies, a_decoder_that_looks_ahead_is_found_in_each_layer) {
  const Untrained made = untrained(small_config("dates", models::Family::kEncoderDecoder));
  for (const std::int64_t layer : {0, 1}) {
    const LeakReport report = probe(made, LeakDepth::kThorough, planted(2 + layer, 3, 6));
    ASSERT_TRUE(report.leaks());
    const std::string name = "decoder layer " + std::to_string(layer);
    const LeakCheck* mass = found(report, name + " weights", "mass above the diagonal");
    ASSERT_NE(mass, nullptr);
    EXPECT_EQ(mass->query, 3);
    EXPECT_EQ(mass->key, 6);
    EXPECT_NEAR(mass->largest, 0.25, 1e-6);
    for (const std::string form : {"suffix swap", "gradient"}) {
      EXPECT_NE(found(report, name + " heads", form), nullptr) << form;
      EXPECT_NE(found(report, "cross layer " + std::to_string(layer) + " heads", form), nullptr) << form;
      EXPECT_NE(found(report, "logits", form), nullptr) << form;
      if (layer == 1) {
        EXPECT_EQ(found(report, "decoder layer 0 heads", form), nullptr) << form;
      }
    }
  }
}

TEST(LeakFamilies, cross_attention_to_padding_is_found) {
  const Untrained made = untrained(small_config("dates", models::Family::kEncoderDecoder));
  const std::int64_t last = made.task->shape().source.seq_len - 1;
  const LeakReport report = probe(made, LeakDepth::kQuick, planted(5, 1, last));
  const LeakCheck* mass = found(report, "cross layer 1 weights", "mass on hidden keys");
  ASSERT_NE(mass, nullptr) << "sources are padded: " << worst(report);
  EXPECT_EQ(mass->query, 1);
  EXPECT_EQ(mass->key, last);
  // Padding knows nothing of later targets.
  EXPECT_EQ(found(report, "logits", "suffix swap"), nullptr);
}

TEST(LeakFamilies, what_an_encoder_looks_at_is_no_leak) {
  const Untrained made = untrained(small_config("copy", models::Family::kEncoderDecoder));
  const LeakReport report = probe(made, LeakDepth::kThorough, planted(0, 1, 6));
  EXPECT_FALSE(report.leaks()) << worst(report);
}

TEST(LeakFamilies, a_key_outside_the_window_is_found) {
  for (const models::Family family : {models::Family::kCausal, models::Family::kEncoderDecoder}) {
    RunConfig config = small_config(family == models::Family::kCausal ? "induction" : "copy", family);
    config.model.window = 3;
    const Untrained made = untrained(config);
    const LeakReport clean = probe(made);
    EXPECT_FALSE(clean.leaks()) << worst(clean);
    const bool pair = family == models::Family::kEncoderDecoder;
    const LeakReport report = probe(made, LeakDepth::kThorough, planted(pair ? 2 : 0, 6, 1));
    const LeakCheck* mass =
        found(report, pair ? "decoder layer 0 weights" : "layer 0 weights", "mass on hidden keys");
    ASSERT_NE(mass, nullptr);
    EXPECT_EQ(mass->query, 6);
    EXPECT_EQ(mass->key, 1);
    // It lies in the past.
    EXPECT_EQ(found(report, "logits", "suffix swap"), nullptr);
    EXPECT_EQ(found(report, "logits", "gradient"), nullptr);
  }
}

TEST(LeakFamilies, a_hidden_token_that_is_seen_is_found) {
  RunConfig config = small_config("induction", models::Family::kCausal);
  const tasks::Batch batch = default_inputs(*make_task(config), kExamples);
  config.hide_token = make_task(config)->typed_text(batch.tokens[1]);
  const Untrained made = untrained(config);
  const LeakReport clean = probe(made);
  EXPECT_FALSE(clean.leaks()) << worst(clean);
  const LeakReport report = probe(made, LeakDepth::kQuick, planted(1, 5, 1));
  const LeakCheck* mass = found(report, "layer 1 weights", "mass on hidden keys");
  ASSERT_NE(mass, nullptr);
  EXPECT_EQ(mass->query, 5);
  EXPECT_EQ(mass->key, 1);
}

TEST(LeakFamilies, a_stored_encoder_decoder_is_judged_too) {
  const Untrained made = untrained(small_config("dates", models::Family::kEncoderDecoder));
  const LeakReport report = find_leaks(made.config, *made.task, made.bytes(), LeakDepth::kQuick);
  EXPECT_FALSE(report.leaks()) << worst(report);
  EXPECT_TRUE(any_of(report, "cross layer 1"));
}

}  // namespace
}  // namespace headtorch::train
