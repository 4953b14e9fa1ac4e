#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/core/attention_maps.hpp"
#include "src/report/colour_map.hpp"

namespace headtorch::report {

/// kTrueColour: 24-bit ANSI colours. kPlain: a ramp of ASCII marks and no escape sequence.
enum class TerminalColour { kTrueColour, kPlain };

struct TerminalRequest {
  std::int64_t layer = 0;                 ///< in AttentionMaps::layers
  std::optional<std::int64_t> head = {};  ///< absent: all heads of the layer
  std::int64_t sample = 0;
  ColorRange color_range = ColorRange::kUnit;
  std::int64_t columns = 80;  ///< width of the terminal; at least 20
  TerminalColour colour = TerminalColour::kPlain;
};

/// Heads as text, side by side while the width allows: queries down, keys across, both labelled. When a head
/// is wider than the terminal or taller than 48 lines, each mark stands for the largest weight of a square
/// block, and a line says so. Lines end in a newline. @throws as `select`; ConfigError when `columns` is
/// below 20.
std::string terminal_picture(const AttentionMaps& maps, const TerminalRequest& request);

}  // namespace headtorch::report
