#include "src/probe/recorded_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "src/core/error.hpp"
#include "src/probe/sums.hpp"

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

LayerShape shape_of(const LayerWeights& layer) {
  return {layer.heads, layer.queries, layer.keys, layer.stack, layer.layer};
}

Sight sight_of(const AttentionMaps& maps, std::size_t sample, const LayerShape& shape) {
  const SequenceLabels& keys = key_labels(maps, shape.stack);
  Sight sight{.length = keys.lengths.empty() ? shape.keys : keys.lengths[sample]};
  if (shape.is_self()) {
    sight.causal = shape.stack == Stack::kDecoder || (shape.stack == Stack::kSelf && maps.causal);
    sight.window = maps.window;
  }
  if (maps.hidden.empty() || shape.stack == Stack::kDecoder || keys.ids.empty()) return sight;
  const std::vector<std::int64_t>& ids = keys.ids[sample];
  const auto is_hidden = [&](std::int64_t id) {
    return std::find(maps.hidden.begin(), maps.hidden.end(), id) != maps.hidden.end();
  };
  if (std::none_of(ids.begin(), ids.end(), is_hidden)) return sight;
  sight.open.assign(static_cast<std::size_t>(shape.keys), 1);
  for (std::size_t key = 0; key < std::min(ids.size(), sight.open.size()); ++key) {
    if (is_hidden(ids[key])) sight.open[key] = 0;
  }
  return sight;
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

namespace {

void check_labels(const SequenceLabels& labels, std::int64_t samples, std::string_view whose) {
  const auto fits = [samples](std::size_t entries) {
    return entries == 0 || std::cmp_equal(entries, samples);
  };
  expect(
      fits(labels.lengths.size()) && fits(labels.ids.size()) && fits(labels.tokens.size()),
      fmt::format("{}{} lengths, {} rows of ids and {} of tokens, expected one for each of {} inputs or none",
                  whose, labels.lengths.size(), labels.ids.size(), labels.tokens.size(), samples));
}

void check_lengths(const SequenceLabels& labels, std::int64_t positions, std::string_view what) {
  for (const std::int64_t length : labels.lengths) {
    expect(length >= 0 && length <= positions,
           fmt::format("an input of length {} in {} {}", length, positions, what));
  }
}

}  // namespace

std::vector<LayerShape> checked_shapes(const AttentionMaps& maps) {
  expect(!maps.layers.empty(), "no layers, expected at least one");
  const std::int64_t samples = maps.layers.front().samples;
  check_labels(maps, samples, "");
  check_labels(maps.source, samples, "sources: ");
  std::vector<LayerShape> shapes;
  for (const LayerWeights& layer : maps.layers) {
    const std::string name = layer_title(layer.stack, layer.layer);
    const std::string sizes =
        fmt::format("[{}, {}, {}, {}]", layer.samples, layer.heads, layer.queries, layer.keys);
    expect(
        layer.samples == samples && samples >= 0 && layer.heads >= 1 && layer.queries >= 1 && layer.keys >= 1,
        fmt::format("{} is {}, expected [{}, heads, queries, keys], none of them 0", name, sizes, samples));
    expect(std::cmp_equal(layer.values.size(), samples * layer.heads * layer.queries * layer.keys),
           fmt::format("{} of {} holds {} values", name, sizes, layer.values.size()));
    expect(layer.stack == Stack::kSelf || layer.stack == Stack::kCross || layer.queries == layer.keys,
           fmt::format("{} is {}, expected as many queries as keys", name, sizes));
    for (const LayerShape& before : shapes) {
      expect(before.stack != layer.stack || before.layer != layer.layer,
             fmt::format("two layers are {}, expected each once", name));
    }
    check_lengths(key_labels(maps, layer.stack), layer.keys, "keys");
    if (layer.stack == Stack::kCross) check_lengths(maps, layer.queries, "queries");
    shapes.push_back(shape_of(layer));
  }
  return shapes;
}

std::vector<RecordedInput> recorded_inputs(const AttentionMaps& maps, const LayerShape& shape) {
  std::vector<RecordedInput> inputs(static_cast<std::size_t>(maps.layers.front().samples));
  const SequenceLabels& labels = query_labels(maps, shape.stack);
  for (std::size_t sample = 0; sample < inputs.size(); ++sample) {
    RecordedInput& input = inputs[sample];
    input.sight = sight_of(maps, sample, shape);
    if (!shape.is_self()) {
      const bool padded = shape.stack == Stack::kCross && !labels.lengths.empty();
      input.rows = padded ? labels.lengths[sample] : shape.queries;
      continue;
    }
    input.rows = input.sight.length;
    if (input.rows == 0) continue;
    const auto length = static_cast<std::size_t>(input.sight.length);
    const auto enough = [&](std::size_t known) {
      expect(known >= length, fmt::format("{} tokens in input {} of length {}", known, sample, length));
    };
    if (!labels.ids.empty()) {
      enough(labels.ids[sample].size());
      input.tokens = TokenPlaces(std::span(labels.ids[sample]).first(length));
    }
    if (!labels.tokens.empty()) {
      enough(labels.tokens[sample].size());
      const std::span<const std::string> text = std::span(labels.tokens[sample]).first(length);
      if (labels.ids.empty()) input.tokens = TokenPlaces(token_ids(text));
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
        throw ConfigError("heads",
                          fmt::format("{}, head {}, input {}, query {}: {}",
                                      layer_title(weights.stack, weights.layer), head, sample, query, what));
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
      double seen = 0.0, unseen = 0.0;
      const std::int64_t first = input.sight.first(query), stop = input.sight.stop(query);
      for (std::int64_t key = 0; key < weights.keys; ++key) {
        const bool visible = key >= first && key < stop && input.sight.is_open(key);
        (visible ? seen : unseen) += double{row[static_cast<std::size_t>(key)]};
      }
      if (unseen > kLeak) {
        refuse(fmt::format("weight {:.3g} on keys it may not see, expected 0", unseen));
      }
      if (seen != 0.0 && !(std::abs(seen - 1.0) <= kRowSumTolerance)) {
        refuse(fmt::format("the weights sum to {:.4g}, expected 1 (weights are taken before dropout)", seen));
      }
    }
  }
}

std::int64_t read_row(std::span<const float> head, std::int64_t keys, std::int64_t query, const Sight& sight,
                      std::vector<double>& row) {
  const auto start = head.begin() + query * keys;
  const std::int64_t first = sight.first(query), stop = std::max(sight.stop(query), first);
  row.assign(start, start + stop);
  std::fill_n(row.begin(), first, 0.0);
  if (!sight.open.empty()) {
    for (std::int64_t key = first; key < stop; ++key) {
      if (!sight.is_open(key)) row[static_cast<std::size_t>(key)] = 0.0;
    }
  }
  const double sum = sum_of(row);
  if (sum == 0.0) return 0;
  for (double& weight : row) weight /= sum;
  return sight.visible(query);
}

}  // namespace headtorch::probe
