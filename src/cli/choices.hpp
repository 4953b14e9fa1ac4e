#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/core/attention_maps.hpp"

// Flags that name one of several things.

namespace headtorch::cli {

/// The error of a text that is none of `allowed`.  @throws UsageError always.
[[noreturn]] void refuse_choice(std::string_view flag, std::string_view text,
                                const std::vector<std::string_view>& allowed);

/// The value beside the name that `text` is, of pairs (name, value).  @throws UsageError where it is none.
template <typename Choices>
auto choose(std::string_view flag, std::string_view text, const Choices& choices) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : choices) {
    if (name == text) return value;
    names.push_back(name);
  }
  refuse_choice(flag, text, names);
}

/// What --layer names: a layer of every stack ("1"), or of one ("C1"; docs/reading_heads.md).
struct LayerChoice {
  std::int64_t layer = 0;
  std::optional<Stack> stack = {};

  bool holds(Stack of, std::int64_t number) const { return number == layer && stack.value_or(of) == of; }
};
/// Nothing for an empty text.  @throws UsageError when it cannot be read.
std::optional<LayerChoice> parse_layer(std::string_view flag, std::string_view text);

/// Places in maps.layers that a choice names; all without one.  @throws ConfigError when there are none.
std::vector<std::int64_t> chosen_layers(const AttentionMaps& maps, const std::optional<LayerChoice>& choice);

/// "1.0", or "C1.0" in an encoder-decoder: layer and head.  @throws UsageError when it cannot be read.
HeadPlace parse_place(std::string_view flag, std::string_view text);
/// @throws ConfigError for a head that is not in the maps.
void check_place(std::string_view flag, const HeadPlace& place, const AttentionMaps& maps);

}  // namespace headtorch::cli
