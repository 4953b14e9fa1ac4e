#include "src/tasks/digit_images.hpp"

#include <charconv>
#include <string_view>

#include "src/core/error.hpp"
#include "src/tasks/embedded_digits.hpp"
#include "src/tasks/split.hpp"

namespace headtorch::tasks {
namespace {

constexpr SplitTenths kTenths = {2, 1};
constexpr std::int64_t kBrightest = 16;

std::int64_t next_number(std::string_view& text) {
  std::int64_t number = 0;
  const auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc{}) throw DataError("digits.csv", "holds something other than numbers");
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()) + 1);  // and the comma or line end
  return number;
}

std::array<std::vector<DigitImage>, 3> read_images() {
  std::array<std::vector<DigitImage>, 3> images;
  std::string_view text = embedded_digits();
  text.remove_prefix(text.find('\n') + 1);
  while (!text.empty()) {
    DigitImage image;
    for (std::int64_t& pixel : image.pixels) pixel = next_number(text);
    image.digit = next_number(text);
    images[static_cast<std::size_t>(split_of(image.pixels, kTenths))].push_back(image);
  }
  return images;
}

}  // namespace

const std::vector<DigitImage>& digit_images(Split split) {
  static const std::array<std::vector<DigitImage>, 3> kImages = read_images();
  return kImages[static_cast<std::size_t>(split)];
}

std::vector<float> digit_patches(const DigitImage& image) {
  std::vector<float> pixels;
  for (const std::int64_t pixel : image.pixels)
    pixels.push_back(static_cast<float>(pixel) / static_cast<float>(kBrightest));
  return patches(pixels, kDigitSize, kDigitPatch);
}

}  // namespace headtorch::tasks
