#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/tasks/task.hpp"
#include "src/tasks/vocabulary.hpp"

namespace headtorch::tasks {

/// The digit in an image of 8x8 pixels: a class token, whose label is the digit, then 16 patches of 2x2 with
/// their pixels as features (Dosovitskiy et al. 2021, "An image is worth 16x16 words", arXiv:2010.11929).
class DigitsTask final : public Task {
 public:
  /// @throws ConfigError for a size other than its own.
  DigitsTask(const TaskOptions& options, std::uint64_t seed);

  const TaskShape& shape() const override { return shape_; }
  Batch batch(Split split, std::int64_t first, std::int64_t count) const override;
  std::int64_t size(Split split) const override;
  std::string token_text(std::int64_t token) const override { return vocabulary_.text(token); }
  std::vector<std::int64_t> parse_tokens(std::string_view input) const override;

 private:
  TaskShape shape_;
  std::uint64_t seed_;
  Vocabulary vocabulary_{0, {"class", "patch"}};
};

}  // namespace headtorch::tasks
