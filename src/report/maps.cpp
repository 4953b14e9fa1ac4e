#include "src/report/maps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/core/error.hpp"

namespace headtorch::report {
namespace {

void check_index(std::string_view name, std::int64_t index, std::int64_t size) {
  if (index < 0 || index >= size) {
    throw ConfigError("heatmap", size > 0 ? fmt::format("{} {}, expected 0 to {}", name, index, size - 1)
                                          : fmt::format("{} {}, but there is none", name, index));
  }
}

}  // namespace

const LayerWeights& select(const AttentionMaps& maps, const Selection& selection) {
  check_index("layer", selection.layer, static_cast<std::int64_t>(maps.layers.size()));
  const LayerWeights& layer = maps.layers[static_cast<std::size_t>(selection.layer)];
  check_index("sample", selection.sample, layer.samples);
  check_index("head", selection.head, layer.heads);
  const auto size = static_cast<std::int64_t>(layer.values.size());
  if (layer.queries < 1 || layer.keys < 1 ||
      size / layer.samples / layer.heads / layer.queries != layer.keys ||
      layer.samples * layer.heads * layer.queries * layer.keys != size) {
    throw ShapeError(
        "heatmap",
        fmt::format("layer {} holds {} weights, expected {} samples x {} heads x {} queries x {} keys",
                    selection.layer, size, layer.samples, layer.heads, layer.queries, layer.keys));
  }
  return layer;
}

HeadSummary summarise(std::span<const float> weights, std::int64_t queries, std::int64_t keys) {
  HeadSummary summary;
  double total = 0.0;
  std::int64_t rows = 0;
  for (std::int64_t i = 0; i < queries; ++i) {
    double row_entropy = 0.0;
    bool all_zero = true, all_finite = true;
    for (const float weight :
         weights.subspan(static_cast<std::size_t>(i * keys), static_cast<std::size_t>(keys))) {
      const double w = weight;
      all_zero = all_zero && w == 0.0;
      if (!std::isfinite(w)) {
        all_finite = false;
        ++summary.not_numbers;
        continue;
      }
      summary.largest = std::max(summary.largest, w);
      summary.outside += w < -kWeightTolerance || w > 1.0 + kWeightTolerance;
      row_entropy -= w > 0.0 ? w * std::log(w) : 0.0;
    }
    if (all_zero) {
      summary.blind.push_back(i);
    } else if (all_finite) {
      total += row_entropy;
      ++rows;
    }
  }
  summary.entropy = rows > 0 ? total / static_cast<double>(rows) : std::numeric_limits<double>::quiet_NaN();
  return summary;
}

std::vector<std::string> with_patches(std::vector<std::string> tokens, const PatchedImage* image) {
  if (image == nullptr) return tokens;
  for (std::int64_t i = 0; i < image->rows * image->columns; ++i) {
    const auto at = static_cast<std::size_t>(image->first + i);
    if (at < tokens.size()) tokens[at] = fmt::format("r{}c{}", i / image->columns, i % image->columns);
  }
  return tokens;
}

AxisTokens axis_tokens(const AttentionMaps& maps, const Selection& selection) {
  const LayerWeights& layer = select(maps, selection);
  const auto sample = static_cast<std::size_t>(selection.sample);
  const auto axis = [&](const SequenceLabels& of, const PatchedImage* image, std::int64_t length) {
    std::vector<std::string> tokens =
        with_patches(sample < of.tokens.size() ? of.tokens[sample] : std::vector<std::string>(), image);
    if (length <= std::ssize(tokens)) return tokens;
    tokens.clear();
    for (std::int64_t i = 0; i < length; ++i) tokens.push_back(fmt::format("{}", i));
    return tokens;
  };
  AxisTokens tokens{axis(query_labels(maps, layer.stack), query_image(maps, layer.stack), layer.queries),
                    axis(key_labels(maps, layer.stack), key_image(maps, layer.stack), layer.keys)};
  tokens.query.erase(tokens.query.begin(), tokens.query.end() - layer.queries);
  tokens.key.resize(static_cast<std::size_t>(layer.keys));
  return tokens;
}

}  // namespace headtorch::report
