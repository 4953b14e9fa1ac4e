#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "src/core/attention_maps.hpp"
#include "src/core/head_kernel.hpp"
#include "src/core/philox.hpp"

namespace headtorch::test {

struct MapsOptions {
  std::int64_t samples = 8, tokens = 16, vocabulary = 4;
  bool causal = false, padded = false;    ///< padded: lengths from half to all of the tokens
  std::int64_t window = -1, hidden = -1;  ///< as AttentionMaps; hidden: one token id
  std::uint64_t seed = 1;
};

/// Random tokens and lengths; no layers yet.
inline AttentionMaps inputs_of(const MapsOptions& options) {
  Random random(options.seed, 0);
  AttentionMaps maps;
  maps.causal = options.causal;
  maps.window = options.window;
  if (options.hidden >= 0) maps.hidden = {options.hidden};
  for (std::int64_t sample = 0; sample < options.samples; ++sample) {
    maps.ids.emplace_back();
    for (std::int64_t i = 0; i < options.tokens; ++i)
      maps.ids.back().push_back(random.below(options.vocabulary));
    if (options.padded) {
      maps.lengths.push_back(options.tokens / 2 + random.below(options.tokens - options.tokens / 2 + 1));
    }
  }
  return maps;
}

inline Sight sight_of(const AttentionMaps& maps, std::size_t sample, std::int64_t keys) {
  Sight sight{.causal = maps.causal,
              .length = maps.lengths.empty() ? keys : maps.lengths[sample],
              .window = maps.window};
  for (const std::int64_t id : maps.hidden.empty() ? std::vector<std::int64_t>() : maps.ids[sample]) {
    sight.open.push_back(id == maps.hidden.front() ? 0 : 1);
  }
  return sight;
}

struct CrossOptions {
  std::int64_t samples = 8, queries = 10, keys = 16;
  bool padded = false;  ///< sources of half to all of the keys, targets of half to all of the queries
  std::uint64_t seed = 1;
};

/// One layer of cross-attention whose heads are these kernels.
inline AttentionMaps cross_maps_of(const std::vector<HeadKernel>& kernels, const CrossOptions& options) {
  Random random(options.seed, 2);
  AttentionMaps maps;
  LayerWeights layer{
      options.samples, std::ssize(kernels), options.queries, options.keys, {}, Stack::kCross, 0};
  for (std::int64_t sample = 0; sample < options.samples; ++sample) {
    maps.ids.emplace_back(static_cast<std::size_t>(options.queries), 5);
    maps.source.ids.emplace_back(static_cast<std::size_t>(options.keys), 6);
    const auto length = [&](std::int64_t most) {
      return options.padded ? most / 2 + random.below(most - most / 2 + 1) : most;
    };
    maps.lengths.push_back(length(options.queries));
    maps.source.lengths.push_back(length(options.keys));
    for (const HeadKernel& kernel : kernels) {
      for (std::int64_t query = 0; query < options.queries; ++query) {
        std::vector<double> row(static_cast<std::size_t>(options.keys));
        if (query < maps.lengths.back())
          row = kernel_row(kernel, query, options.keys, {.length = maps.source.lengths.back()}, {});
        layer.values.insert(layer.values.end(), row.begin(), row.end());
      }
    }
  }
  maps.layers.push_back(std::move(layer));
  return maps;
}

/// One layer of square maps; `row(sample, head, query, sight)` gives [tokens].
template <typename Row>
void add_layer(AttentionMaps& maps, std::int64_t heads, std::int64_t tokens, const Row& row) {
  const auto samples = std::ssize(maps.ids);
  LayerWeights layer{.samples = samples, .heads = heads, .queries = tokens, .keys = tokens, .values = {}};
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    const Sight sight = sight_of(maps, static_cast<std::size_t>(sample), tokens);
    for (std::int64_t head = 0; head < heads; ++head) {
      for (std::int64_t query = 0; query < tokens; ++query) {
        std::vector<double> weights(static_cast<std::size_t>(tokens));
        if (query < sight.length) weights = row(static_cast<std::size_t>(sample), head, query, sight);
        layer.values.insert(layer.values.end(), weights.begin(), weights.end());
      }
    }
  }
  maps.layers.push_back(std::move(layer));
}

/// A layer whose heads are these kernels.
inline AttentionMaps maps_of(const std::vector<HeadKernel>& kernels, const MapsOptions& options) {
  AttentionMaps maps = inputs_of(options);
  add_layer(maps, std::ssize(kernels), options.tokens,
            [&](std::size_t sample, std::int64_t head, std::int64_t query, const Sight& sight) {
              return kernel_row(kernels[static_cast<std::size_t>(head)], query, options.tokens, sight,
                                maps.ids[sample]);
            });
  return maps;
}

/// A layer of softmax rows over random scores of this spread.
inline AttentionMaps random_maps(std::int64_t heads, double spread, const MapsOptions& options) {
  AttentionMaps maps = inputs_of(options);
  Random random(options.seed, 1);
  add_layer(maps, heads, options.tokens,
            [&](std::size_t, std::int64_t, std::int64_t query, const Sight& sight) {
              std::vector<double> row(static_cast<std::size_t>(options.tokens));
              double sum = 0.0;
              for (std::int64_t j = 0; j < options.tokens; ++j) {
                const double score = spread * random.uniform();
                if (sight.sees(query, j)) sum += row[static_cast<std::size_t>(j)] = std::exp(score);
              }
              for (double& weight : row) weight /= sum > 0.0 ? sum : 1.0;
              return row;
            });
  return maps;
}

/// The inputs of `maps` from `first` on, `n` of them.
inline AttentionMaps part_of(const AttentionMaps& maps, std::int64_t first, std::int64_t n) {
  const auto cut = [first, n](auto& of, std::int64_t size) {
    if (!of.empty()) of = {of.begin() + first * size, of.begin() + (first + n) * size};
  };
  AttentionMaps part = maps;
  cut(part.ids, 1);
  cut(part.tokens, 1);
  cut(part.lengths, 1);
  cut(part.source.ids, 1);
  cut(part.source.lengths, 1);
  for (LayerWeights& layer : part.layers) {
    layer.samples = n;
    cut(layer.values, layer.heads * layer.queries * layer.keys);
  }
  return part;
}

}  // namespace headtorch::test
