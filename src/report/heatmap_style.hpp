#pragma once

#include "src/report/canvas.hpp"

// Sizes and colours of a heatmap, in points; layout and drawing share them.

namespace headtorch::report {

inline constexpr Rgb kInk{0x22, 0x22, 0x22}, kSoftInk{0x5a, 0x5a, 0x5a}, kFrame{0x80, 0x80, 0x80};
inline constexpr TextStyle kTitleStyle{15, Weight::kBold, kInk},
    kSubtitleStyle{11, Weight::kNormal, kSoftInk}, kHeadStyle{11.5, Weight::kBold, kInk},
    kPanelStyle{10.5, Weight::kNormal, kSoftInk}, kAxisStyle{11, Weight::kNormal, kInk},
    kBarStyle{10, Weight::kNormal, kInk};

inline constexpr double kMargin = 18;
inline constexpr double kTitleHeight = 48;  ///< title and subtitle
inline constexpr double kPanelLine = 15, kPanelGap = 5;
inline constexpr double kTickGap = 6;     ///< between cells and labels
inline constexpr double kAxisTitle = 20;  ///< "query", "key"
inline constexpr double kSlotGap = 26;    ///< between neighbouring heads
inline constexpr double kBarWidth = 13;
inline constexpr double kBarMark = 4;    ///< length of the marks on the colour bar
inline constexpr double kBarTitle = 24;  ///< its title, written up

}  // namespace headtorch::report
