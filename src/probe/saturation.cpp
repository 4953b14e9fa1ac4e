#include "src/probe/saturation.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "src/probe/recorded_input.hpp"
#include "src/probe/scale_study.hpp"

namespace headtorch::probe {

Saturation saturation(const AttentionMaps& maps) {
  double entropies = 0.0, saturated = 0.0, rows = 0.0;
  std::vector<double> row;
  for (const LayerWeights& layer : maps.layers) {
    const LayerShape shape = shape_of(layer);
    for (std::int64_t sample = 0; sample < layer.samples; ++sample) {
      const Sight sight = sight_of(maps, static_cast<std::size_t>(sample), shape);
      for (std::int64_t i = 0; i < layer.heads * layer.queries; ++i) {
        const std::int64_t query = i % layer.queries;
        const std::int64_t visible =
            read_row(layer.head(sample, i / layer.queries), layer.keys, query, sight, row);
        if (visible < 2) continue;
        double entropy = 0.0, largest = 0.0;
        for (const double weight : row) {
          if (!(weight <= 0.0)) entropy -= weight * std::log(weight);
          largest = std::max(largest, weight);
        }
        entropies += entropy / std::log(static_cast<double>(visible));
        saturated += largest > kSaturated ? 1.0 : 0.0;
        rows += 1.0;
      }
    }
  }
  const double mean = entropies / rows;  // not finite weights make it NaN
  return {mean, std::isnan(mean) ? mean : saturated / rows};
}

}  // namespace headtorch::probe
