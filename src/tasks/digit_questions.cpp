#include "src/tasks/digit_questions.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <sstream>

namespace headtorch::tasks {
namespace {

using Answer = std::optional<std::string>;

/// Pixel rows and columns, the last ones not included.
struct Region {
  std::int64_t top = 0, left = 0, bottom = 0, right = 0;
};

constexpr std::array<Region, 4> kQuadrants = {{{0, 0, 4, 4}, {0, 4, 4, 8}, {4, 0, 8, 4}, {4, 4, 8, 8}}};
constexpr std::array<Region, 4> kCorners = {{{0, 0, 2, 2}, {0, 6, 2, 8}, {6, 0, 8, 2}, {6, 6, 8, 8}}};
constexpr std::array<Region, 4> kRows = {{{0, 0, 2, 8}, {2, 0, 4, 8}, {4, 0, 6, 8}, {6, 0, 8, 8}}};
constexpr Region kLeft = {0, 0, 8, 4}, kRight = {0, 4, 8, 8}, kTop = {0, 0, 4, 8}, kBottom = {4, 0, 8, 8};
constexpr std::array<const char*, 4> kCornerNames = {"top-left", "top-right", "bottom-left", "bottom-right"};
constexpr std::array<const char*, 4> kRowNames = {"first", "second", "third", "fourth"};

std::int64_t light(const DigitImage& image, const Region& region) {
  std::int64_t sum = 0;
  for (std::int64_t row = region.top; row < region.bottom; ++row) {
    for (std::int64_t column = region.left; column < region.right; ++column)
      sum += image.pixels[static_cast<std::size_t>(row * kDigitSize.columns + column)];
  }
  return sum;
}

/// The name of the region that comes first by `before`, unless two share that place.
template <typename Before>
Answer extreme(const DigitImage& image, std::span<const Region> regions, std::span<const char* const> names) {
  std::vector<std::int64_t> sums;
  for (const Region& region : regions) sums.push_back(light(image, region));
  const auto found = std::min_element(sums.begin(), sums.end(), Before{});
  if (std::count(sums.begin(), sums.end(), *found) > 1) return std::nullopt;
  return names[static_cast<std::size_t>(found - sums.begin())];
}

std::string yes_or_no(bool yes) { return yes ? "yes" : "no"; }

Answer brighter(const DigitImage& image, const Region& one, const Region& other) {
  const std::int64_t difference = light(image, one) - light(image, other);
  if (difference == 0) return std::nullopt;
  return yes_or_no(difference > 0);
}

template <std::size_t corner>
Answer corner_is_empty(const DigitImage& image) {
  return yes_or_no(light(image, kCorners[corner]) == 0);
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

}  // namespace

const std::vector<DigitQuestion>& digit_questions() {
  using Brightest = std::greater<>;
  using Darkest = std::less<>;
  static const std::vector<DigitQuestion> kQuestions = {
      {"which quadrant is the brightest ?",
       [](const DigitImage& image) { return extreme<Brightest>(image, kQuadrants, kCornerNames); }},
      {"which quadrant is the darkest ?",
       [](const DigitImage& image) { return extreme<Darkest>(image, kQuadrants, kCornerNames); }},
      {"which row is the brightest ?",
       [](const DigitImage& image) { return extreme<Brightest>(image, kRows, kRowNames); }},
      {"is left brighter than right ?",
       [](const DigitImage& image) { return brighter(image, kLeft, kRight); }},
      {"is top brighter than bottom ?",
       [](const DigitImage& image) { return brighter(image, kTop, kBottom); }},
      {"is the top-left corner empty ?", corner_is_empty<0>},
      {"is the top-right corner empty ?", corner_is_empty<1>},
      {"is the bottom-left corner empty ?", corner_is_empty<2>},
      {"is the bottom-right corner empty ?", corner_is_empty<3>},
  };
  return kQuestions;
}

std::vector<std::string> question_words() {
  std::vector<std::string> all;
  for (const DigitQuestion& question : digit_questions()) {
    for (const std::string& word : words_of(question.text)) {
      if (std::find(all.begin(), all.end(), word) == all.end()) all.push_back(word);
    }
  }
  return all;
}

std::vector<std::string> answer_words() {
  std::vector<std::string> all = {"yes", "no"};
  all.insert(all.end(), kCornerNames.begin(), kCornerNames.end());
  all.insert(all.end(), kRowNames.begin(), kRowNames.end());
  return all;
}

}  // namespace headtorch::tasks
