#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace headtorch::tasks {

/// Pixels.
struct ImageSize {
  std::int64_t rows = 0, columns = 0;
};

/// The square patches of an image, row by row, the pixels of each row by row: patch p of size s holds rows
/// s*(p div w) .. and columns s*(p mod w) .., with w = columns / s.
/// @throws ConfigError unless `patch` divides both sizes, ShapeError unless `image` has rows * columns
/// pixels.
std::vector<float> patches(std::span<const float> image, const ImageSize& size, std::int64_t patch);

/// The inverse: the image that has these patches.  @throws as patches.
std::vector<float> unpatch(std::span<const float> patches, const ImageSize& size, std::int64_t patch);

}  // namespace headtorch::tasks
