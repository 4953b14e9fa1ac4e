#pragma once

#include <string>
#include <vector>

namespace headtorch::cli {

enum class Language { kEnglish, kChinese };

/// From kernel regression to heads, in this order.
enum class TourStep { kBandwidths, kDotProduct, kProjections, kHead, kHeads, kPositions, kVerdict };
inline constexpr int kTourSteps = 7;

/// What a step is called.
std::string tour_title(Language language, TourStep step);
/// What it shows, with the numbers that were found put in where the text has them.
std::string tour_sentence(Language language, TourStep step, const std::vector<std::string>& numbers);
/// The name of its picture, in every language: "bandwidths".
std::string tour_picture(TourStep step);

}  // namespace headtorch::cli
