#include "src/report/colour_map.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace headtorch::report {
namespace {

constexpr std::array<Rgb, 10> kAnchors{{{0x44, 0x01, 0x54},
                                        {0x48, 0x28, 0x78},
                                        {0x3e, 0x4a, 0x89},
                                        {0x31, 0x68, 0x8e},
                                        {0x26, 0x82, 0x8e},
                                        {0x1f, 0x9e, 0x89},
                                        {0x35, 0xb7, 0x79},
                                        {0x6d, 0xcd, 0x59},
                                        {0xb4, 0xde, 0x2c},
                                        {0xfd, 0xe7, 0x25}}};
constexpr int kSteps = 1024;

using Triple = std::array<double, 3>;

double to_linear(std::uint8_t channel) {
  const double c = channel / 255.0;
  return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
}

std::uint8_t to_channel(double linear) {
  const double c = std::clamp(linear, 0.0, 1.0);
  const double coded = c <= 0.0031308 ? 12.92 * c : 1.055 * std::pow(c, 1.0 / 2.4) - 0.055;
  return static_cast<std::uint8_t>(std::lround(255.0 * coded));
}

// Oklab: B. Ottosson, "A perceptual color space for image processing", 2020.
Triple to_oklab(Rgb colour) {
  const double r = to_linear(colour.r), g = to_linear(colour.g), b = to_linear(colour.b);
  const double l = std::cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const double m = std::cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const double s = std::cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return {0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
          1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
          0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s};
}

Rgb from_oklab(const Triple& lab) {
  const double l = std::pow(lab[0] + 0.3963377774 * lab[1] + 0.2158037573 * lab[2], 3);
  const double m = std::pow(lab[0] - 0.1055613458 * lab[1] - 0.0638541728 * lab[2], 3);
  const double s = std::pow(lab[0] - 0.0894841775 * lab[1] - 1.2914855480 * lab[2], 3);
  return {to_channel(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
          to_channel(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
          to_channel(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

std::vector<Rgb> make_table() {
  std::vector<Rgb> table(kSteps + 1);
  for (int i = 0; i <= kSteps; ++i) {
    const double along = static_cast<double>(i) / kSteps * (kAnchors.size() - 1);
    const auto left = std::min(static_cast<std::size_t>(along), kAnchors.size() - 2);
    const double share = along - static_cast<double>(left);
    const Triple a = to_oklab(kAnchors[left]), b = to_oklab(kAnchors[left + 1]);
    Triple mix{};
    for (std::size_t k = 0; k < 3; ++k) {
      mix[k] = a[k] + share * (b[k] - a[k]);
    }
    table[static_cast<std::size_t>(i)] = from_oklab(mix);
  }
  return table;
}

}  // namespace

Rgb viridis(double place) {
  static const std::vector<Rgb> table = make_table();
  return table[static_cast<std::size_t>(std::lround(std::clamp(place, 0.0, 1.0) * kSteps))];
}

double bar_place(double weight, ColorRange range, double head_max) {
  if (std::isnan(weight)) {
    return weight;
  }
  double place = weight;
  if (range == ColorRange::kHead) {
    place = head_max > 0.0 ? weight / head_max : 0.0;
  } else if (range == ColorRange::kLog) {
    place = 1.0 - std::log10(std::max(weight, kLogFloor)) / std::log10(kLogFloor);
  }
  return std::clamp(place, 0.0, 1.0);
}

}  // namespace headtorch::report
