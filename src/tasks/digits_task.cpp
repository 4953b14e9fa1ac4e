#include "src/tasks/digits_task.hpp"

#include <algorithm>

#include "src/tasks/digit_images.hpp"
#include "src/tasks/epochs.hpp"
#include "src/tasks/sizes.hpp"

namespace headtorch::tasks {
namespace {

constexpr std::int64_t kPatch = 1;  // token; the class token is 0
constexpr std::int64_t kLength = 1 + kDigitPatches;

}  // namespace

DigitsTask::DigitsTask(const TaskOptions& options, std::uint64_t seed) : seed_(seed) {
  check_fixed_size("seq_len", options.seq_len, kLength);
  check_fixed_size("n_symbols", options.n_symbols, vocabulary_.size());
  shape_ = {"digits", Reading::kWholeSequence, vocabulary_.size(), 10, kLength, kPatchPixels};
  shape_.image = {kDigitSize.rows / kDigitPatch, kDigitSize.columns / kDigitPatch, kDigitPatch, 1};
}

std::int64_t DigitsTask::size(Split split) const { return size_of(split, digit_images(split).size()); }

Batch DigitsTask::batch(Split split, std::int64_t first, std::int64_t count) const {
  check_examples(*this, split, first, count);
  const std::vector<DigitImage>& images = digit_images(split);
  Epochs epochs(seed_, split, static_cast<std::int64_t>(images.size()));
  const auto n = static_cast<std::size_t>(count * kLength);
  Batch batch;
  batch.examples = count;
  batch.length = kLength;
  batch.tokens.resize(n, kPatch);
  batch.labels.resize(n, kNotCounted);
  batch.features.resize(n * kPatchPixels, 0.0F);
  for (std::int64_t i = 0; i < count; ++i) {
    const DigitImage& image = images[epochs.at(first + i)];
    const auto at = static_cast<std::size_t>(i * kLength);
    batch.tokens[at] = 0;
    batch.labels[at] = image.digit;
    const std::vector<float> pixels = digit_patches(image);
    std::copy(pixels.begin(), pixels.end(), batch.features.begin() + (i * kLength + 1) * kPatchPixels);
  }
  return batch;
}

std::vector<std::int64_t> DigitsTask::parse_tokens(std::string_view input) const {
  return vocabulary_.parse(input, shape_.name);
}

}  // namespace headtorch::tasks
