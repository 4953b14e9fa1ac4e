#include "src/tasks/patches.hpp"

#include <fmt/format.h>

#include "src/core/error.hpp"

namespace headtorch::tasks {
namespace {

/// For each pixel of the patches in turn, its place in the image.
std::vector<std::size_t> places(std::size_t n_pixels, const ImageSize& size, std::int64_t patch) {
  if (patch < 1 || size.rows < 1 || size.columns < 1 || size.rows % patch != 0 || size.columns % patch != 0) {
    throw ConfigError("patch",
                      fmt::format("{} does not divide an image of {} x {}: expected a divisor of both", patch,
                                  size.rows, size.columns));
  }
  if (n_pixels != static_cast<std::size_t>(size.rows * size.columns)) {
    throw ShapeError("patches",
                     fmt::format("{} pixels: expected {} x {}", n_pixels, size.rows, size.columns));
  }
  std::vector<std::size_t> order;
  order.reserve(n_pixels);
  for (std::int64_t top = 0; top < size.rows; top += patch) {
    for (std::int64_t left = 0; left < size.columns; left += patch) {
      for (std::int64_t row = top; row < top + patch; ++row) {
        for (std::int64_t column = left; column < left + patch; ++column)
          order.push_back(static_cast<std::size_t>(row * size.columns + column));
      }
    }
  }
  return order;
}

}  // namespace

std::vector<float> patches(std::span<const float> image, const ImageSize& size, std::int64_t patch) {
  std::vector<float> pixels;
  pixels.reserve(image.size());
  for (const std::size_t place : places(image.size(), size, patch)) pixels.push_back(image[place]);
  return pixels;
}

std::vector<float> unpatch(std::span<const float> patches, const ImageSize& size, std::int64_t patch) {
  const std::vector<std::size_t> order = places(patches.size(), size, patch);
  std::vector<float> image(patches.size());
  for (std::size_t i = 0; i < order.size(); ++i) image[order[i]] = patches[i];
  return image;
}

}  // namespace headtorch::tasks
