#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "src/tasks/patches.hpp"
#include "src/tasks/task.hpp"

namespace headtorch::tasks {

inline constexpr ImageSize kDigitSize = {8, 8};
inline constexpr std::int64_t kDigitPatch = 2, kDigitPatches = 16, kPatchPixels = 4;

/// A handwritten digit of data/digits.csv.
struct DigitImage {
  std::array<std::int64_t, 64> pixels = {};  ///< 0 .. 16, row by row
  std::int64_t digit = 0;
};

/// The images of a split: of their hashes (split_of), 7 tenths train, 1 validates, 2 test, in the order of
/// the file. Equal images are in the same split.
const std::vector<DigitImage>& digit_images(Split split);

/// Pixels in 0..1 of the 2x2 patches, row by row: [16, 4].
std::vector<float> digit_patches(const DigitImage& image);

}  // namespace headtorch::tasks
