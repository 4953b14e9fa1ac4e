#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "src/tasks/task.hpp"
#include "src/tasks/vocabulary.hpp"

namespace headtorch::tasks {

/// A question in words about an image of a digit (digit_questions.hpp): the source is its 16 patches of 2x2,
/// pixels as features, the target the words, and the label of the last word the answer. Every image of a
/// split is asked every question but those where two places tie.
class DigitsQuestionTask final : public Task {
 public:
  /// @throws ConfigError for a size other than its own.
  DigitsQuestionTask(const TaskOptions& options, std::uint64_t seed);

  const TaskShape& shape() const override { return shape_; }
  Batch batch(Split split, std::int64_t first, std::int64_t count) const override;
  std::int64_t size(Split split) const override;
  std::string token_text(std::int64_t token) const override { return words_.text(token); }
  std::string label_text(std::int64_t label) const override { return answers_.text(label); }
  std::vector<std::int64_t> parse_tokens(std::string_view input) const override;
  std::string source_token_text(std::int64_t token) const override { return source_words_.text(token); }
  std::vector<std::int64_t> parse_source(std::string_view input) const override;

 private:
  struct Example {
    std::size_t image = 0, question = 0;
    std::int64_t answer = 0;
  };
  const std::vector<Example>& examples(Split split) const {
    return examples_[static_cast<std::size_t>(split)];
  }

  TaskShape shape_;
  std::uint64_t seed_;
  Vocabulary words_, answers_, source_words_{0, {"class", "patch"}};
  std::vector<std::vector<std::int64_t>> questions_;  ///< tokens
  std::array<std::vector<Example>, 3> examples_;      ///< by split
};

}  // namespace headtorch::tasks
