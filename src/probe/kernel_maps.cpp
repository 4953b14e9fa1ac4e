#include "src/probe/kernel_maps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/core/error.hpp"
#include "src/probe/recorded_input.hpp"

namespace headtorch::probe {
AttentionMaps kernel_maps(const AttentionMaps& maps, const std::vector<HeadReport>& heads) {
  AttentionMaps fitted = maps;
  for (LayerWeights& layer : fitted.layers) std::fill(layer.values.begin(), layer.values.end(), 0.0F);
  for (const HeadReport& report : heads) {
    const auto n_layers = static_cast<std::int64_t>(fitted.layers.size());
    if (report.layer < 0 || report.layer >= n_layers || report.head < 0 ||
        report.head >= fitted.layers[static_cast<std::size_t>(report.layer)].heads) {
      throw ConfigError("kernel_maps",
                        fmt::format("{} is not in the maps of {} layers", head_name(report), n_layers));
    }
    LayerWeights& layer = fitted.layers[static_cast<std::size_t>(report.layer)];
    for (std::int64_t sample = 0; sample < layer.samples; ++sample) {
      const auto at = static_cast<std::size_t>(sample);
      const Sight sight = sight_of(maps, at, {layer.heads, layer.queries, layer.keys});
      const std::span<const std::int64_t> ids = at < maps.ids.size()
                                                    ? std::span<const std::int64_t>(maps.ids[at])
                                                    : std::span<const std::int64_t>();
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

std::vector<double> strengths(const AttentionMaps& maps, std::int64_t layer, std::int64_t head,
                              const std::vector<double>& row_importance) {
  const LayerWeights& weights = maps.layers.at(static_cast<std::size_t>(layer));
  const LayerShape shape{weights.heads, weights.queries, weights.keys};
  std::vector<double> found;
  for (std::int64_t sample = 0; sample < weights.samples; ++sample) {
    const Sight sight = sight_of(maps, static_cast<std::size_t>(sample), shape);
    const std::span<const float> cells = weights.head(sample, head);
    const std::int64_t rows = shape.is_self() ? sight.length : shape.queries;
    double sum = 0.0, total = 0.0;
    for (std::int64_t query = 0; query < rows; ++query) {
      const std::int64_t visible = std::min(sight.visible(query), weights.keys);
      if (visible < 2) continue;
      double kl = std::log(static_cast<double>(visible));
      for (std::int64_t key = 0; key < visible; ++key) {
        const double weight = cells[static_cast<std::size_t>(query * weights.keys + key)];
        if (weight > 0.0) kl += weight * std::log(weight);
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
