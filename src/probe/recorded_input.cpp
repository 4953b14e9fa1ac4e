#include "src/probe/recorded_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "src/core/error.hpp"

namespace headtorch::probe {
namespace {

constexpr double kLeak = 1e-6;  // weight of a row on keys it may not see

void expect(bool holds, const std::string& what) {
  if (!holds) throw ShapeError("heads", what);
}

bool is_end_token(std::string_view text) {
  constexpr std::array<std::string_view, 5> kEndTokens{"</s>", "<eos>", "<end>", "[SEP]", "<|endoftext|>"};
  return std::find(kEndTokens.begin(), kEndTokens.end(), text) != kEndTokens.end();
}

}  // namespace

Sight sight_of(const AttentionMaps& maps, std::size_t sample, const LayerShape& shape) {
  return {.causal = maps.causal && shape.is_self(),
          .length = maps.lengths.empty() ? shape.keys : maps.lengths[sample]};
}

TokenPlaces::TokenPlaces(std::span<const std::int64_t> ids) {
  std::unordered_map<std::int64_t, std::size_t> numbers;
  for (std::size_t position = 0; position < ids.size(); ++position) {
    const std::size_t token = numbers.try_emplace(ids[position], numbers.size()).first->second;
    if (token == places_.size()) places_.emplace_back();
    token_.push_back(token);
    earlier_count_.push_back(places_[token].size());
    places_[token].push_back(static_cast<std::int64_t>(position));
  }
}

std::span<const std::int64_t> TokenPlaces::same(std::int64_t position) const {
  return places_[token_[static_cast<std::size_t>(position)]];
}

std::span<const std::int64_t> TokenPlaces::earlier(std::int64_t position) const {
  return same(position).first(earlier_count_[static_cast<std::size_t>(position)]);
}

std::vector<LayerShape> checked_shapes(const AttentionMaps& maps) {
  expect(!maps.layers.empty(), "no layers, expected at least one");
  const std::int64_t samples = maps.layers.front().samples;
  const auto fits = [samples](std::size_t entries) {
    return entries == 0 || std::cmp_equal(entries, samples);
  };
  expect(
      fits(maps.lengths.size()) && fits(maps.ids.size()) && fits(maps.tokens.size()),
      fmt::format("{} lengths, {} rows of ids and {} of tokens, expected one for each of {} inputs or none",
                  maps.lengths.size(), maps.ids.size(), maps.tokens.size(), samples));
  std::vector<LayerShape> shapes;
  for (const LayerWeights& layer : maps.layers) {
    const std::string sizes =
        fmt::format("[{}, {}, {}, {}]", layer.samples, layer.heads, layer.queries, layer.keys);
    expect(
        layer.samples == samples && samples >= 0 && layer.heads >= 1 && layer.queries >= 1 && layer.keys >= 1,
        fmt::format("layer {} is {}, expected [{}, heads, queries, keys], none of them 0", shapes.size(),
                    sizes, samples));
    expect(std::cmp_equal(layer.values.size(), samples * layer.heads * layer.queries * layer.keys),
           fmt::format("layer {} of {} holds {} values", shapes.size(), sizes, layer.values.size()));
    for (const std::int64_t length : maps.lengths) {
      expect(length >= 0 && length <= layer.keys,
             fmt::format("an input of length {} in {} keys", length, layer.keys));
    }
    shapes.push_back({.heads = layer.heads, .queries = layer.queries, .keys = layer.keys});
  }
  return shapes;
}

std::vector<RecordedInput> recorded_inputs(const AttentionMaps& maps, const LayerShape& shape) {
  std::vector<RecordedInput> inputs(static_cast<std::size_t>(maps.layers.front().samples));
  for (std::size_t sample = 0; sample < inputs.size(); ++sample) {
    RecordedInput& input = inputs[sample];
    input.sight = sight_of(maps, sample, shape);
    input.rows = shape.is_self() ? input.sight.length : shape.queries;
    if (!shape.is_self() || input.rows == 0) continue;
    const auto length = static_cast<std::size_t>(input.sight.length);
    const auto enough = [&](std::size_t known) {
      expect(known >= length, fmt::format("{} tokens in input {} of length {}", known, sample, length));
    };
    if (!maps.ids.empty()) {
      enough(maps.ids[sample].size());
      input.tokens = TokenPlaces(std::span(maps.ids[sample]).first(length));
    }
    if (!maps.tokens.empty()) {
      enough(maps.tokens[sample].size());
      const std::span<const std::string> text = std::span(maps.tokens[sample]).first(length);
      if (maps.ids.empty()) input.tokens = TokenPlaces(token_ids(text));
      if (is_end_token(text.back())) input.end_token = input.sight.length - 1;
    }
  }
  return inputs;
}

void check_weights(const AttentionMaps& maps, std::size_t layer, std::int64_t head,
                   const std::vector<RecordedInput>& inputs) {
  const LayerWeights& weights = maps.layers[layer];
  for (std::size_t sample = 0; sample < inputs.size(); ++sample) {
    const std::span<const float> all = weights.head(static_cast<std::int64_t>(sample), head);
    for (std::int64_t query = 0; query < weights.queries; ++query) {
      const auto refuse = [&](const std::string& what) {
        throw ConfigError("heads", fmt::format("layer {}, head {}, input {}, query {}: {}", layer, head,
                                               sample, query, what));
      };
      const std::span<const float> row =
          all.subspan(static_cast<std::size_t>(query * weights.keys), static_cast<std::size_t>(weights.keys));
      for (std::size_t key = 0; key < row.size(); ++key) {
        if (row[key] >= 0.0F && row[key] <= 1.0 + kWeightTolerance) continue;
        refuse(fmt::format("the weight of key {} is {}, expected 0 to 1 (weights are taken before dropout)",
                           key, row[key]));
      }
      const RecordedInput& input = inputs[sample];
      if (query >= input.rows) continue;
      const auto visible = row.begin() + input.sight.visible(query);
      const double seen = std::accumulate(row.begin(), visible, 0.0);
      const double unseen = std::accumulate(visible, row.end(), 0.0);
      if (unseen > kLeak) {
        refuse(fmt::format("weight {:.3g} on keys it may not see, expected 0", unseen));
      }
      if (seen != 0.0 && !(std::abs(seen - 1.0) <= kRowSumTolerance)) {
        refuse(fmt::format("the weights sum to {:.4g}, expected 1 (weights are taken before dropout)", seen));
      }
    }
  }
}

bool read_row(std::span<const float> head, std::int64_t keys, std::int64_t query, std::int64_t visible,
              std::vector<double>& row) {
  const auto start = head.begin() + query * keys;
  row.assign(start, start + visible);
  const double sum = std::accumulate(row.begin(), row.end(), 0.0);
  if (sum == 0.0) return false;
  for (double& weight : row) weight /= sum;
  return true;
}

}  // namespace headtorch::probe
