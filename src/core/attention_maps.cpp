#include "src/core/attention_maps.hpp"

#include <unordered_map>

namespace headtorch {

const SequenceLabels& query_labels(const AttentionMaps& maps, Stack stack) {
  return queries_are_source(stack) ? maps.source : maps;
}

const SequenceLabels& key_labels(const AttentionMaps& maps, Stack stack) {
  return keys_are_source(stack) ? maps.source : maps;
}

const PatchedImage* query_image(const AttentionMaps& maps, Stack stack) {
  const bool in_rows = stack == Stack::kSelf || stack == Stack::kEncoder;
  return in_rows && maps.image.rows > 0 ? &maps.image : nullptr;
}

const PatchedImage* key_image(const AttentionMaps& maps, Stack stack) {
  return stack != Stack::kDecoder && maps.image.rows > 0 ? &maps.image : nullptr;
}

std::optional<std::size_t> find_layer(const AttentionMaps& maps, const HeadPlace& head) {
  for (std::size_t index = 0; index < maps.layers.size(); ++index) {
    const LayerWeights& layer = maps.layers[index];
    if (layer.stack == head.stack && layer.layer == head.layer) {
      return head.head >= 0 && head.head < layer.heads ? std::optional(index) : std::nullopt;
    }
  }
  return std::nullopt;
}

std::vector<std::int64_t> token_ids(std::span<const std::string> tokens) {
  std::unordered_map<std::string_view, std::int64_t> first;
  std::vector<std::int64_t> ids;
  for (const std::string& token : tokens) {
    ids.push_back(first.try_emplace(token, static_cast<std::int64_t>(ids.size())).first->second);
  }
  return ids;
}

}  // namespace headtorch
