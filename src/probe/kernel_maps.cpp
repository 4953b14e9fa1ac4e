#include "src/probe/kernel_maps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "src/core/error.hpp"
#include "src/probe/recorded_input.hpp"

namespace headtorch::probe {
namespace {

std::span<const std::int64_t> ids_of(const SequenceLabels& labels, std::size_t sample) {
  return sample < labels.ids.size() ? std::span<const std::int64_t>(labels.ids[sample])
                                    : std::span<const std::int64_t>();
}

std::size_t layer_of(const AttentionMaps& maps, const HeadPlace& place, std::string_view where) {
  if (const auto layer = find_layer(maps, place)) return *layer;
  throw ConfigError(where, fmt::format("{} is not in the maps of {} layers", headtorch::head_name(place),
                                       maps.layers.size()));
}

}  // namespace

AttentionMaps kernel_maps(const AttentionMaps& maps, const std::vector<HeadReport>& heads) {
  AttentionMaps fitted = maps;
  for (LayerWeights& layer : fitted.layers) std::fill(layer.values.begin(), layer.values.end(), 0.0F);
  for (const HeadReport& report : heads) {
    LayerWeights& layer = fitted.layers[layer_of(maps, report.place(), "kernel_maps")];
    for (std::int64_t sample = 0; sample < layer.samples; ++sample) {
      const auto at = static_cast<std::size_t>(sample);
      const Sight sight = sight_of(maps, at, shape_of(layer));
      const std::span<const std::int64_t> ids = ids_of(key_labels(maps, layer.stack), at);
      auto cell = layer.values.begin() + static_cast<std::ptrdiff_t>((sample * layer.heads + report.head) *
                                                                     layer.queries * layer.keys);
      for (std::int64_t query = 0; query < layer.queries; ++query) {
        const std::vector<double> row = kernel_row(report.kernel.kernel, query, layer.keys, sight, ids);
        cell = std::transform(row.begin(), row.end(), cell,
                              [](double weight) { return static_cast<float>(weight); });
      }
    }
  }
  return fitted;
}

std::vector<double> strengths(const AttentionMaps& maps, const HeadPlace& place,
                              const std::vector<double>& row_importance) {
  const LayerWeights& weights = maps.layers[layer_of(maps, place, "strengths")];
  const std::vector<RecordedInput> inputs = recorded_inputs(maps, shape_of(weights));
  std::vector<double> found;
  for (std::int64_t sample = 0; sample < weights.samples; ++sample) {
    const RecordedInput& input = inputs[static_cast<std::size_t>(sample)];
    const std::span<const float> cells = weights.head(sample, place.head);
    double sum = 0.0, total = 0.0;
    for (std::int64_t query = 0; query < input.rows; ++query) {
      const std::int64_t visible = input.sight.visible(query);
      if (visible < 2) continue;
      double kl = std::log(static_cast<double>(visible));
      for (std::int64_t key = 0; key < weights.keys; ++key) {
        const double weight = cells[static_cast<std::size_t>(query * weights.keys + key)];
        if (weight > 0.0 && input.sight.sees(query, key)) kl += weight * std::log(weight);
      }
      const double importance =
          row_importance.empty() ? 1.0 : row_importance.at(static_cast<std::size_t>(query));
      sum += importance * kl;
      total += importance;
    }
    found.push_back(total > 0.0 ? sum / total : 0.0);
  }
  return found;
}

}  // namespace headtorch::probe
