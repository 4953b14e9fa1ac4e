#include "src/store/foreign_weights.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "src/core/philox.hpp"
#include "src/store/safetensors.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/temp_folder.hpp"

namespace headtorch::store {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Texts = std::vector<std::string>;

// Case G13, one head.
constexpr const char* kLower = "[[1, 0, 0], [0.25, 0.75, 0], [0.2, 0.3, 0.5]]";

StoredTensor floats(std::vector<std::int64_t> shape, const std::vector<float>& values) {
  StoredTensor tensor{DType::kF32, std::move(shape), std::string(values.size() * sizeof(float), '\0')};
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

class ForeignWeights : public ::testing::Test {
 protected:
  AttentionMaps json(const std::string& text, const std::string& tokens = {},
                     const char* name = "tokens.txt") {
    const auto path = folder_.file("w.json", text);
    return read_foreign_weights(path, tokens.empty() ? "" : folder_.file(name, tokens));
  }
  ::testing::AssertionResult refused(const std::string& name, const std::string& bytes, const char* what) {
    const auto path = folder_.file(name, bytes);
    return test::fails([&] { read_foreign_weights(path); }, ExitCode::kBadData,
                       AllOf(HasSubstr(name), HasSubstr(what)));
  }

  test::TempFolder folder_;
};

TEST_F(ForeignWeights, G13_rows_are_queries_and_causal_is_seen) {
  const AttentionMaps maps = json(kLower, "A B C");
  ASSERT_EQ(maps.layers.size(), 1u);
  EXPECT_EQ(maps.layers[0].heads, 1);
  EXPECT_EQ(maps.layers[0].values, (std::vector<float>{1, 0, 0, 0.25F, 0.75F, 0, 0.2F, 0.3F, 0.5F}));
  EXPECT_EQ(maps.tokens, (std::vector<Texts>{{"A", "B", "C"}}));
  EXPECT_TRUE(maps.causal);
  EXPECT_EQ(maps.task, "w.json");
  EXPECT_FALSE(json("[[1, 1e-30], [0, 1]]").causal);
}

TEST_F(ForeignWeights, dimensions_are_layers_samples_heads_queries_keys) {
  const AttentionMaps heads = json("[[[1, 0], [0, 1]], [[0, 1], [1, 0]], [[0.5, 0.5], [0.5, 0.5]]]");
  ASSERT_EQ(heads.layers.size(), 1u);
  EXPECT_EQ(heads.layers[0].heads, 3);
  EXPECT_EQ(heads.layers[0].head(0, 1)[1], 1.0F);

  const AttentionMaps layers = json("[[[[1]], [[2]], [[3]]], [[[4]], [[5]], [[6]]]]");
  ASSERT_EQ(layers.layers.size(), 2u);
  EXPECT_EQ(layers.layers[0].heads, 3);
  EXPECT_EQ(layers.layers[1].values, (std::vector<float>{4, 5, 6}));

  const AttentionMaps samples = json("[[[[[1]], [[2]]], [[[3]], [[4]]], [[[5]], [[6]]]]]");
  ASSERT_EQ(samples.layers.size(), 1u);
  EXPECT_EQ(samples.layers[0].samples, 3);
  EXPECT_EQ(samples.layers[0].heads, 2);
  EXPECT_EQ(samples.layers[0].head(2, 1)[0], 6.0F);
  EXPECT_EQ(samples.tokens, (std::vector<Texts>{{"0"}, {"0"}, {"0"}}));
}

TEST_F(ForeignWeights, objects_of_bertviz_and_circuitsvis) {
  const AttentionMaps circuits = json(R"({"attention": [[[1, 0], [0, 1]]], "tokens": ["<s>", "a"]})");
  EXPECT_EQ(circuits.tokens, (std::vector<Texts>{{"<s>", "a"}}));
  const AttentionMaps bert = json(
      R"({"attention": [{"name": null, "attn": [[[[1, 0], [0, 1]]], [[[0, 1], [1, 0]]]],
          "left_text": ["x", "y"], "right_text": ["x", "y"]}], "layer": 0})");
  EXPECT_EQ(bert.layers.size(), 2u);
  EXPECT_EQ(bert.tokens, (std::vector<Texts>{{"x", "y"}}));
}

TEST_F(ForeignWeights, safetensors_with_one_tensor_a_layer_in_reading_order) {
  TensorFile file;
  for (int layer = 0; layer < 11; ++layer)
    file.tensors["layer." + std::to_string(layer)] = floats({2, 1, 1}, {static_cast<float>(layer), 0});
  const AttentionMaps maps = read_foreign_weights(folder_.file("w.safetensors", write_safetensors(file)));
  ASSERT_EQ(maps.layers.size(), 11u);
  for (std::size_t layer = 0; layer < 11; ++layer)
    EXPECT_EQ(maps.layers[layer].values[0], static_cast<float>(layer));
}

TEST_F(ForeignWeights, safetensors_with_all_layers_and_with_samples) {
  TensorFile file;
  file.tensors["a"] = floats({2, 1, 1, 2}, {1, 2, 3, 4});
  EXPECT_EQ(read_foreign_weights(folder_.file("w.safetensors", write_safetensors(file))).layers.size(), 2u);
  file.tensors["b"] = file.tensors["a"];
  const AttentionMaps maps = read_foreign_weights(folder_.file("w.safetensors", write_safetensors(file)));
  EXPECT_EQ(maps.layers.size(), 2u);
  EXPECT_EQ(maps.layers[0].samples, 2);

  file.tensors["c"] = floats({1, 3, 2, 1}, {1, 1, 1, 1, 1, 1});
  EXPECT_TRUE(refused("w.safetensors", write_safetensors(file), "\"c\" has shape [1, 3, 2, 1]"));
  file.tensors["c"] = {DType::kI64, {1}, std::string(8, '\0')};
  EXPECT_TRUE(refused("w.safetensors", write_safetensors(file), "\"c\" is of whole numbers"));
  EXPECT_TRUE(refused("w.safetensors", write_safetensors({}), "holds no tensor"));
}

TEST_F(ForeignWeights, tokens_by_line_by_space_and_as_json) {
  const char* two = "[[1, 0], [0, 1]]";
  EXPECT_EQ(json(two, "a b\n c\n").tokens[0], (Texts{"a b", " c"}));
  EXPECT_EQ(json(two, "a\r\n\r\n").tokens[0], (Texts{"a", ""}));
  EXPECT_EQ(json(two, " [CLS]\t[SEP] ").tokens[0], (Texts{"[CLS]", "[SEP]"}));
  EXPECT_EQ(json(two, R"(["a\n", 7])").tokens[0], (Texts{"a\n", "7"}));
  const AttentionMaps samples = json("[[[[[1]]], [[[1]]]]]", R"([["a"], ["b"]])");
  EXPECT_EQ(samples.tokens, (std::vector<Texts>{{"a"}, {"b"}}));
  EXPECT_EQ(json("[[1, 0, 0], [0, 1, 0], [0, 0, 1]]", "a b a").ids[0], (std::vector<std::int64_t>{0, 1, 0}));
  EXPECT_EQ(json(two).ids[0], (std::vector<std::int64_t>{0, 1}));
}

TEST_F(ForeignWeights, tokens_that_do_not_fit_are_refused) {
  const auto path = folder_.file("w.json", kLower);
  const auto tokens = [&](const char* name, const char* text, const char* what) {
    const auto tokens_path = folder_.file(name, text);
    return test::fails([&] { read_foreign_weights(path, tokens_path); }, ExitCode::kBadData,
                       AllOf(HasSubstr(name), HasSubstr(what)));
  };
  EXPECT_TRUE(tokens("t.txt", "a b", "has 2 tokens, expected 3"));
  EXPECT_TRUE(tokens("t.txt", "", "has 0 tokens, expected 3"));
  EXPECT_TRUE(tokens("t.json", "{}", "expected a list of texts"));
  EXPECT_TRUE(tokens("t.json", "[[1], 2]", "expected a list of texts"));
  EXPECT_TRUE(tokens("t.json", "[\"a\", null, \"b\"]", "expected a list of texts"));
  EXPECT_TRUE(tokens("t.json", R"([["a", "b", "c"], ["a", "b", "c"]])", "tokens of 2 samples, expected 1"));
  EXPECT_TRUE(test::fails([&] { read_foreign_weights(path, folder_.path() / "none.txt"); },
                          ExitCode::kInputMissing, HasSubstr("none.txt")));
}

TEST_F(ForeignWeights, bad_files_are_refused_by_name) {
  EXPECT_TRUE(refused("w.pt", "x", "expected .npy, .json or .safetensors"));
  EXPECT_TRUE(refused("w.npy", "x", "is no .npy file"));
  for (const char* text : {"", "[", "[[NaN]]", "[[1e999]]", "\xff"}) {
    EXPECT_TRUE(refused("w.json", text, "is no JSON document")) << text;
  }
  EXPECT_TRUE(refused("w.json", "[[1, 0], [1]]", "ragged"));
  EXPECT_TRUE(refused("w.json", "[[1, 0], 1]", "ragged"));
  EXPECT_TRUE(refused("w.json", "[[1, \"0\"]]", "a string where a number was due"));
  EXPECT_TRUE(refused("w.json", "[[], []]", "an empty list"));
  EXPECT_TRUE(refused("w.json", "[1, 2]", "has shape [2]"));
  EXPECT_TRUE(refused("w.json", "[[[[[[1]]]]]]", "deeper than five"));
  EXPECT_TRUE(refused("w.json", "{}", "without \"attention\""));
  EXPECT_TRUE(refused("w.json", "7", "holds a number for the weights"));
  EXPECT_TRUE(refused("w.json", R"({"attention": [{"left_text": []}]})", "without \"attn\""));
  EXPECT_TRUE(refused("w.json", std::string(200'000, '['), "is no JSON document"));
  EXPECT_TRUE(test::fails([&] { read_foreign_weights(folder_.path() / "none.npy"); }, ExitCode::kInputMissing,
                          HasSubstr("none.npy")));
}

TEST_F(ForeignWeights, damaged_bytes_are_read_or_refused_and_nothing_else) {
  TensorFile file;
  file.tensors["a.0"] = floats({2, 2, 2}, {1, 0, 0, 1, 1, 0, 0, 1});
  file.tensors["a.1"] = file.tensors["a.0"];
  const std::string whole[] = {write_safetensors(file),
                               R"({"attention": [[[1, 0], [0.5, 0.5]]], "tokens": ["a", "b"]})"};
  const char* names[] = {"w.safetensors", "w.json"};
  Random random(2, 0);
  for (std::size_t kind = 0; kind < 2; ++kind) {
    for (std::size_t i = 0; i < 400; ++i) {
      std::string bytes = whole[kind];
      if (i < bytes.size()) {
        bytes.resize(i);
      } else {
        bytes[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(bytes.size())))] =
            static_cast<char>(random.below(256));
      }
      const auto path = folder_.file(names[kind], bytes);
      try {
        read_foreign_weights(path);
        EXPECT_GE(i, whole[kind].size()) << "cut off at " << i;
      } catch (const DataError&) {
      }
    }
  }
}

TEST_F(ForeignWeights, G03_weights_after_dropout_are_told) {
  EXPECT_EQ(doubts_about(json(kLower)), std::nullopt);
  EXPECT_EQ(doubts_about(json("[[0, 0], [0.5, 0.5]]")), std::nullopt) << "a row that sees nothing";
  const auto dropped = doubts_about(json("[[1.25, 0], [0.625, 0]]"));
  ASSERT_TRUE(dropped);
  EXPECT_THAT(*dropped, HasSubstr("1 of 4 weights are outside 0 to 1"));
  EXPECT_THAT(*dropped, HasSubstr("2 of 2 rows do not sum to 1 (0.625 to 1.25)"));
  EXPECT_THAT(*dropped, HasSubstr("before dropout"));
  EXPECT_THAT(*doubts_about(json("[[null, 0.5], [0, 1]]")), HasSubstr("1 of 4 weights are not finite"));
}

}  // namespace
}  // namespace headtorch::store
