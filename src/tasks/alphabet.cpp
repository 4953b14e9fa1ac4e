#include "src/tasks/alphabet.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "src/core/error.hpp"
#include "src/tasks/text_file.hpp"

namespace headtorch::tasks {
namespace {

constexpr std::size_t kMostListed = 40;

template <typename Name>
std::string list_characters(const std::u32string& characters, Name name) {
  std::vector<std::string> names;
  for (const char32_t character : characters.substr(0, kMostListed)) names.push_back(name(character));
  if (characters.size() > kMostListed)
    names.push_back(fmt::format("and {} more", characters.size() - kMostListed));
  return fmt::format("{}", fmt::join(names, " "));
}

}  // namespace

Alphabet::Alphabet(std::u32string ascending) : characters_(std::move(ascending)) {}

bool Alphabet::has(char32_t character) const {
  return std::binary_search(characters_.begin(), characters_.end(), character);
}

std::int64_t Alphabet::token(char32_t character) const {
  return std::lower_bound(characters_.begin(), characters_.end(), character) - characters_.begin();
}

std::string Alphabet::text(std::int64_t token) const {
  return visible_character(characters_.at(static_cast<std::size_t>(token)));
}

std::string Alphabet::typed(std::int64_t token) const {
  return encode_text(characters_.substr(static_cast<std::size_t>(token), 1));
}

std::vector<std::int64_t> Alphabet::parse(std::string_view input, std::string_view owner) const {
  const std::u32string characters = decode_text(input, "input");
  if (characters.empty()) throw DataError("input", fmt::format("is empty: expected characters of {}", owner));
  std::vector<std::int64_t> tokens;
  std::u32string unknown;
  for (const char32_t character : characters) {
    if (has(character)) {
      tokens.push_back(token(character));
    } else if (unknown.find(character) == std::u32string::npos) {
      unknown += character;
    }
  }
  if (!unknown.empty()) {
    throw DataError("input", fmt::format("holds {}, which {} does not have: expected characters among {}",
                                         list_characters(unknown, code_point_name), owner,
                                         list_characters(characters_, visible_character)));
  }
  return tokens;
}

}  // namespace headtorch::tasks
