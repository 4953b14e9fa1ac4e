#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/tasks/digit_images.hpp"

namespace headtorch::tasks {

inline constexpr std::int64_t kQuestionLength = 6;  // words, the last of them "?"

/// A question that a look at the image answers.
struct DigitQuestion {
  std::string text;                                               ///< words separated by spaces
  std::optional<std::string> (*answer)(const DigitImage& image);  ///< nothing where it is a tie
};

const std::vector<DigitQuestion>& digit_questions();
/// The words of all questions and of all answers, each once.
std::vector<std::string> question_words();
std::vector<std::string> answer_words();

}  // namespace headtorch::tasks
