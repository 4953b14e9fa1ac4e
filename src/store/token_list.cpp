#include "src/store/token_list.hpp"

#include <nlohmann/json.hpp>

#include "src/core/error.hpp"

namespace headtorch::store {
namespace {

using nlohmann::json;

[[noreturn]] void fail(std::string_view file) {
  throw DataError(file, "holds tokens that cannot be read, expected a list of texts");
}

std::vector<std::string> one_sample(const json& list, std::string_view file) {
  std::vector<std::string> tokens;
  for (const json& token : list) {
    if (!token.is_string() && !token.is_number_integer()) fail(file);
    tokens.push_back(token.is_string() ? token.get<std::string>() : token.dump());
  }
  return tokens;
}

/// Text between the separators; with `keep_empty`, also nothing between two of them.
std::vector<std::string> split(std::string_view text, std::string_view separators, bool keep_empty) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find_first_of(separators);
    if (keep_empty || (end != 0 && !text.empty())) parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string> lines_of(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  std::vector<std::string> lines = split(text, "\n", true);
  for (std::string& line : lines) {
    if (line.ends_with('\r')) line.pop_back();
  }
  return lines;
}

}  // namespace

TokenList token_list(const json& list, std::string_view file) {
  if (!list.is_array() || list.empty()) fail(file);
  if (!list.front().is_array()) return {one_sample(list, file)};
  TokenList samples;
  for (const json& sample : list) {
    if (!sample.is_array()) fail(file);
    samples.push_back(one_sample(sample, file));
  }
  return samples;
}

TokenList read_token_list(std::string_view text, std::string_view file, std::size_t count) {
  const json document = json::parse(text, nullptr, false);
  // "[CLS] a [SEP]" is no JSON, so that a text may begin with a bracket.
  if (document.is_array()) return token_list(document, file);
  if (file.ends_with(".json")) fail(file);
  std::vector<std::string> lines = lines_of(text);
  if (lines.size() == count) return {lines};
  return {split(text, " \t\r\n", false)};
}

}  // namespace headtorch::store
