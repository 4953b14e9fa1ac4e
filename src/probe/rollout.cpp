#include "src/probe/rollout.hpp"

#include <fmt/format.h>

#include "src/core/error.hpp"
#include "src/probe/recorded_input.hpp"

namespace headtorch::probe {
namespace {

/// (mean over heads A + I) with rows divided by their sums, [T, T].
std::vector<double> mixing(const LayerWeights& layer, std::int64_t sample, std::int64_t rows) {
  const auto size = static_cast<std::size_t>(layer.keys);
  std::vector<double> mix(size * size);
  for (std::int64_t head = 0; head < layer.heads; ++head) {
    const std::span<const float> weights = layer.head(sample, head);
    for (std::size_t cell = 0; cell < size * static_cast<std::size_t>(rows); ++cell) {
      mix[cell] += static_cast<double>(weights[cell]) / static_cast<double>(layer.heads);
    }
  }
  for (std::size_t row = 0; row < size; ++row) {
    mix[row * size + row] += 1.0;
    double sum = 0.0;
    for (std::size_t key = 0; key < size; ++key) sum += mix[row * size + key];
    for (std::size_t key = 0; key < size; ++key) mix[row * size + key] /= sum;
  }
  return mix;
}

std::vector<double> product(const std::vector<double>& a, const std::vector<double>& b, std::size_t size) {
  std::vector<double> c(a.size());
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t k = 0; k < size; ++k) {
      const double factor = a[i * size + k];
      if (factor == 0.0) continue;  // half of them under a causal mask
      for (std::size_t j = 0; j < size; ++j) c[i * size + j] += factor * b[k * size + j];
    }
  }
  return c;
}

}  // namespace

std::vector<double> rollout(const AttentionMaps& maps, std::int64_t sample, Stack stack) {
  checked_shapes(maps);
  std::vector<const LayerWeights*> layers;
  for (const LayerWeights& layer : maps.layers) {
    if (layer.stack == stack) layers.push_back(&layer);
  }
  if (layers.empty()) {
    throw ShapeError("rollout",
                     fmt::format("no layer of stack {}, expected at least one", stack_name(stack)));
  }
  const std::int64_t size = layers.front()->keys;
  for (const LayerWeights* layer : layers) {
    if (!shape_of(*layer).is_self() || layer->keys != size) {
      throw ShapeError("rollout", fmt::format("a layer of {} queries and {} keys, expected {} of both",
                                              layer->queries, layer->keys, size));
    }
  }
  if (sample < 0 || sample >= layers.front()->samples) {
    throw ShapeError("rollout",
                     fmt::format("sample {}, expected 0 to {}", sample, layers.front()->samples - 1));
  }
  const std::vector<std::int64_t>& lengths = key_labels(maps, stack).lengths;
  const std::int64_t rows = lengths.empty() ? size : lengths[static_cast<std::size_t>(sample)];
  std::vector<double> rolled = mixing(*layers.front(), sample, rows);
  for (std::size_t layer = 1; layer < layers.size(); ++layer) {
    rolled = product(mixing(*layers[layer], sample, rows), rolled, static_cast<std::size_t>(size));
  }
  return rolled;
}

}  // namespace headtorch::probe
