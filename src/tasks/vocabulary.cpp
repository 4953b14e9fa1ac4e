#include "src/tasks/vocabulary.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <utility>

#include "src/core/error.hpp"

namespace headtorch::tasks {
namespace {

constexpr std::string_view kSpaces = " \t\n\r";

std::optional<std::int64_t> number_of(std::string_view word, std::int64_t n_numbers) {
  std::int64_t number = 0;
  const auto [stop, status] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (status != std::errc{} || stop != word.data() + word.size()) return std::nullopt;
  if (number < 0 || number >= n_numbers) return std::nullopt;
  return number;
}

}  // namespace

Vocabulary::Vocabulary(std::int64_t n_numbers, std::vector<std::string> words)
    : n_numbers_(n_numbers), words_(std::move(words)) {}

std::int64_t Vocabulary::size() const { return n_numbers_ + static_cast<std::int64_t>(words_.size()); }

std::string Vocabulary::text(std::int64_t token) const {
  if (token < n_numbers_) return std::to_string(token);
  return words_.at(static_cast<std::size_t>(token - n_numbers_));
}

std::int64_t Vocabulary::token(std::string_view word) const {
  const auto found = std::find(words_.begin(), words_.end(), word);
  if (found == words_.end()) throw std::out_of_range(std::string(word));
  return n_numbers_ + (found - words_.begin());
}

std::string Vocabulary::known() const {
  const std::string words = fmt::format("{}", fmt::join(words_, " "));
  if (n_numbers_ == 0) return fmt::format("expected words among {}, separated by spaces", words);
  return fmt::format("expected numbers from 0 to {}{}{}, separated by spaces", n_numbers_ - 1,
                     words.empty() ? "" : " or words among ", words);
}

std::vector<std::int64_t> Vocabulary::parse(std::string_view input, std::string_view task) const {
  std::vector<std::int64_t> tokens;
  for (std::size_t begin = input.find_first_not_of(kSpaces); begin != std::string_view::npos;) {
    const std::size_t end = std::min(input.find_first_of(kSpaces, begin), input.size());
    const std::string_view word = input.substr(begin, end - begin);
    if (const auto number = number_of(word, n_numbers_)) {
      tokens.push_back(*number);
    } else if (std::find(words_.begin(), words_.end(), word) != words_.end()) {
      tokens.push_back(token(word));
    } else {
      throw DataError("input", fmt::format("\"{}\" is not a symbol of {}: {}", word, task, known()));
    }
    begin = input.find_first_not_of(kSpaces, end);
  }
  if (tokens.empty()) throw DataError("input", fmt::format("is empty: {}", known()));
  return tokens;
}

}  // namespace headtorch::tasks
