#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headtorch::tasks {

/// Tokens that are single characters, in ascending order of their code points.
class Alphabet {
 public:
  explicit Alphabet(std::u32string ascending = {});

  std::int64_t size() const { return static_cast<std::int64_t>(characters_.size()); }
  bool has(char32_t character) const;
  /// The token of a character that the alphabet has.
  std::int64_t token(char32_t character) const;
  /// A character as a person reads it (visible_character).
  std::string text(std::int64_t token) const;
  /// The character itself, in UTF-8.
  std::string typed(std::int64_t token) const;
  /// @throws DataError naming the characters (U+....) that the alphabet of `owner` lacks, or an empty input.
  std::vector<std::int64_t> parse(std::string_view input, std::string_view owner) const;

 private:
  std::u32string characters_;
};

}  // namespace headtorch::tasks
