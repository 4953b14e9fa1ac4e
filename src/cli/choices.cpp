#include "src/cli/choices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>

#include "src/cli/numbers.hpp"
#include "src/core/error.hpp"

namespace headtorch::cli {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();

std::vector<std::string> layer_names(const AttentionMaps& maps) {
  std::vector<std::string> names;
  for (const LayerWeights& layer : maps.layers) {
    names.push_back(layer.stack == Stack::kSelf ? std::to_string(layer.layer)
                                                : layer_name(layer.stack, layer.layer));
  }
  return names;
}

}  // namespace

void refuse_choice(std::string_view flag, std::string_view text,
                   const std::vector<std::string_view>& allowed) {
  throw UsageError(flag,
                   fmt::format("\"{}\" cannot be read, expected one of {}", text, fmt::join(allowed, ", ")));
}

std::optional<LayerChoice> parse_layer(std::string_view flag, std::string_view text) {
  if (text.empty()) return std::nullopt;
  LayerChoice choice;
  for (const Stack stack : {Stack::kSelf, Stack::kEncoder, Stack::kDecoder, Stack::kCross}) {
    if (text.front() == layer_name(stack, 0).front()) choice.stack = stack;
  }
  choice.layer = whole_number(flag, text.substr(choice.stack ? 1 : 0), 0, kLargest);
  return choice;
}

std::vector<std::int64_t> chosen_layers(const AttentionMaps& maps, const std::optional<LayerChoice>& choice) {
  std::vector<std::int64_t> chosen;
  for (std::int64_t index = 0; index < std::ssize(maps.layers); ++index) {
    const LayerWeights& layer = maps.layers[static_cast<std::size_t>(index)];
    if (!choice || choice->holds(layer.stack, layer.layer)) chosen.push_back(index);
  }
  if (!chosen.empty()) return chosen;
  throw ConfigError("--layer", fmt::format("{} is out of range, expected one of {}", choice->layer,
                                           fmt::join(layer_names(maps), ", ")));
}

HeadPlace parse_place(std::string_view flag, std::string_view text) {
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos || dot == 0) {
    throw UsageError(flag, fmt::format("\"{}\" cannot be read, expected LAYER.HEAD, such as 1.0", text));
  }
  const LayerChoice layer = *parse_layer(flag, text.substr(0, dot));
  return {layer.layer, whole_number(flag, text.substr(dot + 1), 0, kLargest),
          layer.stack.value_or(Stack::kSelf)};
}

void check_place(std::string_view flag, const HeadPlace& place, const AttentionMaps& maps) {
  if (find_layer(maps, place)) return;
  const LayerWeights& last = maps.layers.back();
  throw ConfigError(flag, fmt::format("{} is not there, expected a head up to {}", head_name(place),
                                      head_name({last.layer, last.heads - 1, last.stack})));
}

}  // namespace headtorch::cli
