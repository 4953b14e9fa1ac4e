#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headtorch::tasks {

/// Tokens as people write them, separated by spaces: the numbers 0 .. n_numbers-1, then words.
class Vocabulary {
 public:
  explicit Vocabulary(std::int64_t n_numbers = 0, std::vector<std::string> words = {});

  std::int64_t size() const;
  std::string text(std::int64_t token) const;
  /// The token of a word.  @throws std::out_of_range for a word that is none; a mistake of the calling code.
  std::int64_t token(std::string_view word) const;
  /// @throws DataError naming the first word that is unknown, or an empty input, and what `task` knows.
  std::vector<std::int64_t> parse(std::string_view input, std::string_view task) const;

 private:
  std::string known() const;

  std::int64_t n_numbers_;
  std::vector<std::string> words_;
};

}  // namespace headtorch::tasks
