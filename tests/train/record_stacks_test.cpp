// record(): the weights of an encoder-decoder's three stacks, and what their rows and columns stand for.

#include <gmock/gmock.h>

#include <cstdlib>

#include "tests/train/untrained.hpp"
#include "train/batch.hpp"

namespace headtorch::train {
namespace {

using testing::ElementsAre;

AttentionMaps maps_of(const Untrained& made, std::int64_t n) {
  models::MiniTransformer model = made.model;
  return record(model, *made.task, default_inputs(*made.task, n), 7, torch::kCPU);
}

double row_sum(const LayerWeights& layer, std::int64_t sample, std::int64_t head, std::int64_t query) {
  const auto rows =
      layer.head(sample, head)
          .subspan(static_cast<std::size_t>(query * layer.keys), static_cast<std::size_t>(layer.keys));
  double sum = 0.0;
  for (const float weight : rows) sum += weight;
  return sum;
}

TEST(RecordStacks, come_in_order_with_sizes_of_their_own) {
  const Untrained made = untrained(small_config("dates", models::Family::kEncoderDecoder));
  const AttentionMaps maps = maps_of(made, 3);
  const std::int64_t source = made.task->shape().source.seq_len, target = made.task->shape().seq_len;
  ASSERT_NE(source, target);
  std::vector<std::string> names;
  for (const LayerWeights& layer : maps.layers) {
    names.push_back(layer_name(layer.stack, layer.layer));
    EXPECT_EQ(layer.samples, 3);
    EXPECT_EQ(layer.heads, 2);
    EXPECT_EQ(layer.queries, layer.stack == Stack::kEncoder ? source : target);
    EXPECT_EQ(layer.keys, layer.stack == Stack::kDecoder ? target : source);
    EXPECT_EQ(std::ssize(layer.values), 3 * 2 * layer.queries * layer.keys);
  }
  EXPECT_THAT(names, ElementsAre("E0", "E1", "D0", "D1", "C0", "C1"));
  EXPECT_EQ(maps.task, "dates");
  EXPECT_EQ(maps.step, 7);
  EXPECT_EQ(maps.image.rows, 0);
}

TEST(RecordStacks, padding_of_sources_gets_no_weight_and_no_text) {
  const Untrained made = untrained(small_config("dates", models::Family::kEncoderDecoder));
  const AttentionMaps maps = maps_of(made, 6);
  ASSERT_EQ(maps.source.lengths.size(), 6U);
  EXPECT_TRUE(maps.lengths.empty());
  std::int64_t padded = 0;
  for (const LayerWeights& layer : maps.layers) {
    for (std::int64_t sample = 0; sample < 6; ++sample) {
      const std::int64_t length = maps.source.lengths[static_cast<std::size_t>(sample)];
      for (std::int64_t query = 0; query < layer.queries; ++query) {
        EXPECT_NEAR(row_sum(layer, sample, 1, query), 1.0, 1e-5) << layer_name(layer.stack, layer.layer);
        for (std::int64_t key = 0; key < layer.keys; ++key) {
          const float weight = layer.head(sample, 1)[static_cast<std::size_t>(query * layer.keys + key)];
          const bool hidden = layer.stack == Stack::kDecoder ? key > query : key >= length;
          EXPECT_EQ(weight == 0.0F, hidden)
              << layer_name(layer.stack, layer.layer) << " " << query << " " << key;
          padded += hidden && layer.stack != Stack::kDecoder ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(padded, 0) << "no source was padded";
}

TEST(RecordStacks, rows_and_columns_carry_the_texts_of_their_sequence) {
  const Untrained made = untrained(small_config("dates", models::Family::kEncoderDecoder));
  const tasks::Batch inputs = default_inputs(*made.task, 4);
  const AttentionMaps maps = maps_of(made, 4);
  for (std::int64_t sample = 0; sample < 4; ++sample) {
    const auto at = static_cast<std::size_t>(sample);
    for (std::int64_t i = 0; i < inputs.source.length; ++i) {
      const std::int64_t token =
          inputs.source.tokens[static_cast<std::size_t>(sample * inputs.source.length + i)];
      const std::string& text = maps.source.tokens[at][static_cast<std::size_t>(i)];
      const bool padding = i >= inputs.source.lengths[at];
      EXPECT_EQ(text, padding ? "" : made.task->source_token_text(token));
      EXPECT_EQ(maps.source.ids[at][static_cast<std::size_t>(i)], token);
    }
    for (std::int64_t i = 0; i < inputs.length; ++i) {
      const std::int64_t token = inputs.tokens[static_cast<std::size_t>(sample * inputs.length + i)];
      EXPECT_EQ(maps.tokens[at][static_cast<std::size_t>(i)], made.task->token_text(token));
    }
  }
  EXPECT_EQ(&query_labels(maps, Stack::kCross), static_cast<const SequenceLabels*>(&maps));
  EXPECT_EQ(&key_labels(maps, Stack::kCross), &maps.source);
}

TEST(RecordStacks, a_source_of_patches_brings_its_image) {
  const Untrained made = untrained(small_config("digits-question", models::Family::kEncoderDecoder));
  const tasks::Batch inputs = default_inputs(*made.task, 2);
  const AttentionMaps maps = maps_of(made, 2);
  const PatchedImage& image = maps.image;
  const tasks::ImageShape& shape = made.task->shape().source.image;
  ASSERT_EQ(image.rows, shape.rows);
  ASSERT_EQ(image.columns, shape.columns);
  ASSERT_EQ(image.pixels.size(), 2U);
  const std::int64_t side = image.patch, width = image.columns * side, area = side * side;
  ASSERT_EQ(std::ssize(image.pixels[0]), image.rows * side * width);
  for (std::int64_t sample = 0; sample < 2; ++sample) {
    for (std::int64_t y = 0; y < image.rows * side; ++y) {
      for (std::int64_t x = 0; x < width; ++x) {
        const std::int64_t patch = y / side * image.columns + x / side, pixel = y % side * side + x % side;
        const std::int64_t feature = (sample * inputs.source.length + shape.first + patch) * area + pixel;
        EXPECT_EQ(image.pixels[static_cast<std::size_t>(sample)][static_cast<std::size_t>(y * width + x)],
                  inputs.source.features[static_cast<std::size_t>(feature)]);
      }
    }
  }
  EXPECT_EQ(key_image(maps, Stack::kCross), &image);
  EXPECT_EQ(query_image(maps, Stack::kCross), nullptr);
  EXPECT_EQ(key_image(maps, Stack::kDecoder), nullptr);
}

TEST(RecordStacks, windows_and_hidden_tokens_are_said_and_kept) {
  RunConfig config = small_config("copy", models::Family::kEncoderDecoder);
  config.model.window = 2;
  config.hide_token = "3";
  const Untrained made = untrained(config);
  const AttentionMaps maps = maps_of(made, 4);
  EXPECT_EQ(maps.window, 2);
  EXPECT_EQ(maps.hidden, made.model->sizes().hidden_tokens);
  ASSERT_EQ(maps.hidden.size(), 1U);
  for (const LayerWeights& layer : maps.layers) {
    const std::vector<std::vector<std::int64_t>>& keys = key_labels(maps, layer.stack).ids;
    for (std::int64_t sample = 0; sample < 4; ++sample) {
      for (std::int64_t query = 0; query < layer.queries; ++query) {
        for (std::int64_t key = 0; key < layer.keys; ++key) {
          const bool is_hidden =
              layer.stack != Stack::kDecoder &&
              keys[static_cast<std::size_t>(sample)][static_cast<std::size_t>(key)] == maps.hidden[0];
          const bool is_far = layer.stack != Stack::kCross && std::abs(query - key) > 2;
          const bool is_later = layer.stack == Stack::kDecoder && key > query;
          const float weight = layer.head(sample, 0)[static_cast<std::size_t>(query * layer.keys + key)];
          EXPECT_EQ(weight == 0.0F, is_hidden || is_far || is_later)
              << layer_name(layer.stack, layer.layer) << " " << query << " " << key;
        }
      }
    }
  }
}

TEST(RecordStacks, leave_the_model_in_its_mode) {
  const Untrained made = untrained(small_config("copy", models::Family::kEncoderDecoder));
  models::MiniTransformer model = made.model;
  model->train();
  const AttentionMaps a = maps_of(made, 2), b = maps_of(made, 2);
  EXPECT_TRUE(model->is_training());
  for (std::size_t i = 0; i < a.layers.size(); ++i) EXPECT_EQ(a.layers[i].values, b.layers[i].values);
}

}  // namespace
}  // namespace headtorch::train
