#pragma once

#include <span>
#include <string_view>

namespace headtorch::train {

/// One file of models/presets/, compiled in by cmake/Presets.cmake.
struct EmbeddedPreset {
  std::string_view name, text;
};
std::span<const EmbeddedPreset> embedded_presets();

}  // namespace headtorch::train
