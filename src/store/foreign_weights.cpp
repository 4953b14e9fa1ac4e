#include "src/store/foreign_weights.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "src/core/error.hpp"
#include "src/core/file.hpp"
#include "src/store/array.hpp"
#include "src/store/json_weights.hpp"
#include "src/store/npy.hpp"
#include "src/store/safetensors.hpp"
#include "src/store/token_list.hpp"

namespace headtorch::store {
namespace fs = std::filesystem;
namespace {

/// Layers with the tokens that came in the same file.
struct Found {
  std::vector<LayerWeights> layers;
  TokenList tokens;
};

LayerWeights layer_of(const Array& array, std::int64_t first, std::int64_t samples, std::int64_t heads) {
  LayerWeights layer{samples, heads, array.shape.end()[-2], array.shape.end()[-1], {}};
  const std::int64_t size = samples * heads * layer.queries * layer.keys;
  const auto begin = array.values.begin() + first * size;
  layer.values.assign(begin, begin + size);
  return layer;
}

void check_shape(const std::vector<std::int64_t>& shape, std::string_view file, std::string_view what,
                 std::size_t least, std::size_t most, std::string_view expected) {
  const bool empty = std::any_of(shape.begin(), shape.end(), [](std::int64_t size) { return size < 1; });
  if (shape.size() >= least && shape.size() <= most && !empty) return;
  throw DataError(file, fmt::format("{}has shape [{}], expected {}", what, fmt::join(shape, ", "), expected));
}

std::vector<LayerWeights> layers_of(const Array& array, std::string_view file) {
  check_shape(array.shape, file, "", 2, 5,
              "[heads, T, T], [layers, heads, T, T] or [layers, samples, heads, T, T]");
  std::vector<std::int64_t> outer(array.shape.begin(), array.shape.end() - 2);
  const std::int64_t heads = outer.empty() ? 1 : outer.back();
  const std::int64_t samples = outer.size() == 3 ? outer[1] : 1;
  const std::int64_t n_layers = outer.size() >= 2 ? outer.front() : 1;
  std::vector<LayerWeights> layers;
  for (std::int64_t l = 0; l < n_layers; ++l) layers.push_back(layer_of(array, l, samples, heads));
  return layers;
}

/// "layer.2" before "layer.10".
bool in_reading_order(std::string_view a, std::string_view b) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto number = [&](std::string_view& text) {
    std::size_t end = 0;
    while (end < text.size() && digit(text[end])) ++end;
    std::string_view digits = text.substr(0, end);
    text.remove_prefix(end);
    digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
    return digits;
  };
  while (!a.empty() && !b.empty()) {
    if (digit(a.front()) && digit(b.front())) {
      const std::string_view x = number(a), y = number(b);
      if (x != y) return std::pair(x.size(), x) < std::pair(y.size(), y);
    } else if (a.front() != b.front()) {
      return a.front() < b.front();
    } else {
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  return a.size() < b.size();
}

FloatType float_type(DType dtype, const std::string& name, std::string_view file) {
  switch (dtype) {
    case DType::kF16:
      return FloatType::kHalf;
    case DType::kBF16:
      return FloatType::kBrain;
    case DType::kF32:
      return FloatType::kSingle;
    case DType::kF64:
      return FloatType::kDouble;
    default:
      throw DataError(file, fmt::format("tensor \"{}\" is of whole numbers, expected F16, BF16, F32 or F64",
                                        one_line(name)));
  }
}

std::vector<LayerWeights> layers_of(const TensorFile& tensors, std::string_view file) {
  if (tensors.tensors.empty()) throw DataError(file, "holds no tensor, expected attention weights");
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors.tensors) names.push_back(name);
  std::stable_sort(names.begin(), names.end(), in_reading_order);
  std::vector<LayerWeights> layers;
  for (const std::string& name : names) {
    const StoredTensor& tensor = tensors.tensors.at(name);
    const Array array{tensor.shape, read_floats(tensor.bytes, float_type(tensor.dtype, name, file))};
    if (names.size() == 1) return layers_of(array, file);
    const std::string what = fmt::format("tensor \"{}\" ", one_line(name));
    check_shape(array.shape, file, what, 3, 4, "[heads, T, T] or [samples, heads, T, T], one tensor a layer");
    const std::int64_t samples = array.shape.size() == 4 ? array.shape.front() : 1;
    layers.push_back(layer_of(array, 0, samples, array.shape.end()[-3]));
    const LayerWeights &first = layers.front(), &last = layers.back();
    if (last.samples != first.samples || last.queries != first.queries || last.keys != first.keys) {
      throw DataError(file, fmt::format("{}has shape [{}], expected samples and T as in \"{}\"", what,
                                        fmt::join(array.shape, ", "), one_line(names.front())));
    }
  }
  return layers;
}

Found read_any(const fs::path& path) {
  const std::string extension = path.extension().string();
  const std::string file = path.string();
  if (extension == ".npy") return {layers_of(read_npy(read_file(path), file), file), {}};
  if (extension == ".safetensors") return {layers_of(read_safetensors(read_file(path), file), file), {}};
  if (extension == ".json") {
    JsonWeights weights = read_json_weights(read_file(path), file);
    return {layers_of(weights.array, file), {std::move(weights.tokens)}};
  }
  throw DataError(file, "has a name that tells no format, expected .npy, .json or .safetensors");
}

bool looks_back_only(const LayerWeights& layer) {
  if (layer.queries != layer.keys || layer.keys < 2) return false;
  for (std::size_t i = 0; i < layer.values.size(); ++i) {
    const auto cell = static_cast<std::int64_t>(i) % (layer.queries * layer.keys);
    if (cell % layer.keys > cell / layer.keys && layer.values[i] != 0.0F) return false;
  }
  return true;
}

/// Positions of each sample up to the last that looks or is looked at: those after it, rows and columns of
/// zeros in all heads, are padding. None when there is no padding, or queries are not keys.
std::vector<std::int64_t> lengths_of(const AttentionMaps& maps) {
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(maps.layers.front().samples), 1);
  bool padded = false;
  for (std::size_t sample = 0; sample < lengths.size(); ++sample) {
    std::int64_t& length = lengths[sample];
    for (const LayerWeights& layer : maps.layers) {
      if (layer.queries != layer.keys) return {};
      for (std::int64_t head = 0; head < layer.heads; ++head) {
        const std::span<const float> cells = layer.head(static_cast<std::int64_t>(sample), head);
        for (std::int64_t cell = 0; cell < std::ssize(cells); ++cell) {
          if (cells[static_cast<std::size_t>(cell)] == 0.0F) continue;
          length = std::max({length, cell / layer.keys + 1, cell % layer.keys + 1});
        }
      }
    }
    padded = padded || length < maps.layers.front().keys;
  }
  return padded ? lengths : std::vector<std::int64_t>();
}

}  // namespace

bool is_weights_path(const std::filesystem::path& path) {
  std::error_code absent;
  const std::filesystem::path extension = path.extension();
  return std::filesystem::is_regular_file(path, absent) || extension == ".npy" || extension == ".json" ||
         extension == ".safetensors";
}

AttentionMaps read_foreign_weights(const fs::path& path, const fs::path& tokens_path) {
  Found found = read_any(path);
  AttentionMaps maps;
  maps.task = path.filename().string();
  maps.layers = std::move(found.layers);
  for (std::size_t layer = 0; layer < maps.layers.size(); ++layer) {
    maps.layers[layer].layer = static_cast<std::int64_t>(layer);
  }
  const LayerWeights& first = maps.layers.front();
  const auto positions = static_cast<std::size_t>(std::max(first.queries, first.keys));
  const fs::path& source = tokens_path.empty() ? path : tokens_path;
  if (!tokens_path.empty())
    found.tokens = read_token_list(read_file(tokens_path), source.string(), positions);
  if (found.tokens.empty()) {
    found.tokens.emplace_back();
    for (std::size_t i = 0; i < positions; ++i) found.tokens.front().push_back(std::to_string(i));
  }
  const auto samples = static_cast<std::size_t>(first.samples);
  if (found.tokens.size() == 1) found.tokens.resize(samples, found.tokens.front());
  if (found.tokens.size() != samples) {
    throw DataError(source.string(),
                    fmt::format("has tokens of {} samples, expected {}", found.tokens.size(), samples));
  }
  for (const auto& tokens : found.tokens) {
    if (tokens.size() != positions) {
      throw DataError(source.string(), fmt::format("has {} tokens, expected {}, one for each position",
                                                   tokens.size(), positions));
    }
    maps.ids.push_back(token_ids(tokens));
  }
  maps.tokens = std::move(found.tokens);
  maps.causal = std::all_of(maps.layers.begin(), maps.layers.end(), looks_back_only);
  maps.lengths = lengths_of(maps);
  return maps;
}

std::optional<std::string> doubts_about(const AttentionMaps& maps) {
  std::int64_t weights = 0, not_finite = 0, outside = 0, rows = 0, wrong_rows = 0;
  double least = 1.0, most = 1.0;
  for (const LayerWeights& layer : maps.layers) {
    for (std::size_t row = 0; row < layer.values.size(); row += static_cast<std::size_t>(layer.keys)) {
      double sum = 0.0;
      bool all_zero = true, all_finite = true;
      for (std::size_t i = row; i < row + static_cast<std::size_t>(layer.keys); ++i) {
        const double weight = layer.values[i];
        all_zero = all_zero && weight == 0.0;
        all_finite = all_finite && std::isfinite(weight);
        not_finite += !std::isfinite(weight);
        outside += weight < -kWeightTolerance || weight > 1.0 + kWeightTolerance;
        sum += weight;
      }
      ++rows;
      weights += layer.keys;
      if (all_zero || !all_finite) continue;
      wrong_rows += std::abs(sum - 1.0) > kRowSumTolerance;
      least = std::min(least, sum);
      most = std::max(most, sum);
    }
  }
  std::vector<std::string> parts;
  if (not_finite > 0) parts.push_back(fmt::format("{} of {} weights are not finite", not_finite, weights));
  if (outside > 0) parts.push_back(fmt::format("{} of {} weights are outside 0 to 1", outside, weights));
  if (wrong_rows > 0) {
    parts.push_back(
        fmt::format("{} of {} rows do not sum to 1 ({:.4g} to {:.4g})", wrong_rows, rows, least, most));
  }
  if (parts.empty()) return std::nullopt;
  return fmt::format("{}: expected weights after the softmax and before dropout", fmt::join(parts, ", "));
}

}  // namespace headtorch::store
