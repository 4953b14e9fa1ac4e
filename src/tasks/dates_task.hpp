#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/tasks/alphabet.hpp"
#include "src/tasks/task.hpp"

namespace headtorch::tasks {

/// A date as people write it (date_formats.hpp), to ISO 8601. Dates and formats are uniform, from 1 January
/// 1900 to 31 December 2099; no date is in two splits. The source is its characters, the target a start token
/// and then the ten characters of the answer.
class DatesTask final : public Task {
 public:
  /// @throws ConfigError for a size other than its own.
  DatesTask(const TaskOptions& options, std::uint64_t seed);

  const TaskShape& shape() const override { return shape_; }
  Batch batch(Split split, std::int64_t first, std::int64_t count) const override;
  std::int64_t size(Split split) const override;
  std::string token_text(std::int64_t token) const override;
  std::vector<std::int64_t> parse_tokens(std::string_view input) const override;
  Spelling spelling() const override { return Spelling::kCharacters; }
  std::string source_token_text(std::int64_t token) const override { return characters_.text(token); }
  std::vector<std::int64_t> parse_source(std::string_view input) const override;
  std::int64_t n_free_running() const override { return size(Split::kTest); }

 private:
  TaskShape shape_;
  std::uint64_t seed_;
  Alphabet characters_, answers_;
};

}  // namespace headtorch::tasks
