#pragma once

#include <cstdint>

namespace headtorch::report {

struct Rgb {
  std::uint8_t r = 0, g = 0, b = 0;
  bool operator==(const Rgb&) const = default;
};

/// Where a weight lies on the colour bar: the weight itself, the weight over the head's largest, or its
/// logarithm.
enum class ColorRange { kUnit, kHead, kLog };

inline constexpr double kLogFloor = 1e-4;  ///< weights at and below it share the darkest colour under kLog

/// Colours for cells that hold no weight to compare; neither is on the map.
inline constexpr Rgb kSeesNothing{222, 222, 222};
inline constexpr Rgb kNotANumber{230, 60, 90};

/// Viridis at `place` (no NaN), clamped to 0 (dark violet) .. 1 (yellow): lightness rises evenly, so it also
/// prints in grey and reads with every common colour blindness. Source: N. Smith and S. van der Walt, "A
/// better default colormap for matplotlib", SciPy 2015 (CC0); ten published colours, joined by straight lines
/// in Oklab.
Rgb viridis(double place);

/// `weight` on the bar of `range`, clamped to 0..1; NaN stays NaN. `head_max` counts under kHead only, and 0
/// gives 0.
double bar_place(double weight, ColorRange range, double head_max);

}  // namespace headtorch::report
