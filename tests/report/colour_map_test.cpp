#include "src/report/colour_map.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace headtorch::report {
namespace {

/// CIE 1976 lightness of an sRGB colour, D65.
double lightness(Rgb colour) {
  const auto linear = [](int channel) {
    const double c = channel / 255.0;
    return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  };
  const double y = 0.2126 * linear(colour.r) + 0.7152 * linear(colour.g) + 0.0722 * linear(colour.b);
  return y > 216.0 / 24389.0 ? 116.0 * std::cbrt(y) - 16.0 : y * 24389.0 / 27.0;
}

TEST(ColourMap, lightness_rises_evenly_from_dark_to_light) {
  constexpr int kSteps = 256;
  const double first = lightness(viridis(0)), last = lightness(viridis(1));
  EXPECT_LT(first, 20);
  EXPECT_GT(last, 88);
  double before = -1;
  for (int i = 0; i <= kSteps; ++i) {
    const double now = lightness(viridis(static_cast<double>(i) / kSteps));
    // One step of an 8-bit channel moves the lightness by up to 0.3.
    EXPECT_GT(now, before - 0.3) << i;
    EXPECT_NEAR(now, first + (last - first) * i / kSteps, 3.0) << i;
    before = now;
  }
}

// The palette of five that R's viridisLite prints; three of them lie between our ten anchors,
// where straight lines in Oklab are off by up to 4 of 255, which no eye sees.
TEST(ColourMap, equals_the_published_palette) {
  const Rgb published[] = {
      {0x44, 0x01, 0x54}, {0x3b, 0x52, 0x8b}, {0x21, 0x90, 0x8c}, {0x5d, 0xc8, 0x63}, {0xfd, 0xe7, 0x25}};
  for (int i = 0; i < 5; ++i) {
    const Rgb ours = viridis(i / 4.0);
    const int allowed = i == 0 || i == 4 ? 0 : 4;
    EXPECT_NEAR(ours.r, published[i].r, allowed) << i;
    EXPECT_NEAR(ours.g, published[i].g, allowed) << i;
    EXPECT_NEAR(ours.b, published[i].b, allowed) << i;
  }
}

TEST(ColourMap, clamps_and_keeps_marks_apart_from_the_map) {
  EXPECT_EQ(viridis(-3), viridis(0));
  EXPECT_EQ(viridis(1e9), viridis(1));
  for (int i = 0; i <= 1000; ++i) {
    const Rgb colour = viridis(i / 1000.0);
    for (const Rgb mark : {kSeesNothing, kNotANumber}) {
      EXPECT_GT(std::abs(colour.r - mark.r) + std::abs(colour.g - mark.g) + std::abs(colour.b - mark.b), 60)
          << i;
    }
  }
}

TEST(ColourMap, places_on_the_bar) {
  EXPECT_DOUBLE_EQ(bar_place(0.3, ColorRange::kUnit, 0.5), 0.3);
  EXPECT_DOUBLE_EQ(bar_place(1.5, ColorRange::kUnit, 1.5), 1.0);
  EXPECT_DOUBLE_EQ(bar_place(-0.5, ColorRange::kUnit, 1.0), 0.0);
  EXPECT_DOUBLE_EQ(bar_place(0.3, ColorRange::kHead, 0.6), 0.5);
  EXPECT_DOUBLE_EQ(bar_place(0.0, ColorRange::kHead, 0.0), 0.0);
  EXPECT_NEAR(bar_place(1.0, ColorRange::kLog, 1.0), 1.0, 1e-12);
  EXPECT_NEAR(bar_place(0.01, ColorRange::kLog, 1.0), 0.5, 1e-12);
  EXPECT_NEAR(bar_place(1e-4, ColorRange::kLog, 1.0), 0.0, 1e-12);
  EXPECT_NEAR(bar_place(0.0, ColorRange::kLog, 1.0), 0.0, 1e-12);
  for (const ColorRange range : {ColorRange::kUnit, ColorRange::kHead, ColorRange::kLog}) {
    EXPECT_TRUE(std::isnan(bar_place(std::numeric_limits<double>::quiet_NaN(), range, 1.0)));
  }
}

}  // namespace
}  // namespace headtorch::report
