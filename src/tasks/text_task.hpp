#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/tasks/alphabet.hpp"
#include "src/tasks/task.hpp"

namespace headtorch::tasks {

/// Next character of a text. Symbols are the distinct code points of the whole file in ascending order. The
/// first floor(0.9 n) characters are for training: example i is a window at a random place. The rest is read
/// in windows that do not overlap, so that each of its characters is a label exactly once; it serves as
/// validation and as test.
class TextTask final : public Task {
 public:
  /// @throws InputMissing, DataError or ConfigError as make_task.
  TextTask(const TaskOptions& options, std::uint64_t seed);

  const TaskShape& shape() const override { return shape_; }
  Batch batch(Split split, std::int64_t first, std::int64_t count) const override;
  std::int64_t size(Split split) const override;
  std::string token_text(std::int64_t token) const override;
  std::vector<std::int64_t> parse_tokens(std::string_view input) const override;
  Spelling spelling() const override { return Spelling::kCharacters; }
  std::string typed_text(std::int64_t token) const override { return symbols_.typed(token); }
  /// The line break, or the first character of a text without one.
  std::vector<std::int64_t> first_prompt() const override;
  std::string overlap_note() const override;

 private:
  TaskShape shape_;
  std::uint64_t seed_;
  Alphabet symbols_;
  std::vector<std::int32_t> text_;  ///< index into symbols_
  std::int64_t n_train_ = 0;
};

}  // namespace headtorch::tasks
