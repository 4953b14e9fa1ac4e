#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <optional>

#include "src/core/error.hpp"
#include "src/core/nearest.hpp"
#include "train/settings/config.hpp"
#include "train/settings/field.hpp"

namespace headtorch::train {
namespace {

constexpr std::size_t kLargestFile = 64 * 1024;
constexpr std::int64_t kMostDots = 4000;
constexpr std::size_t kLongestShown = 60;

std::string place(std::string_view file, const toml::source_region& region) {
  return fmt::format("{}:{}", file, region.begin.line);
}

/// toml++ frees nested tables by recursion, so a key of very many parts would overflow the stack. Each level
/// needs a dot, or one of the 256 brackets that toml++ itself allows.
void refuse_what_cannot_be_settings(std::string_view text, std::string_view file) {
  if (text.size() > kLargestFile) {
    throw DataError(
        file, fmt::format("has {} bytes, expected a configuration of at most {}", text.size(), kLargestFile));
  }
  if (std::count(text.begin(), text.end(), '.') > kMostDots) {
    throw DataError(file, fmt::format("has more than {} dots, which no configuration needs", kMostDots));
  }
}

toml::table parse(std::string_view text, std::string_view file) {
  refuse_what_cannot_be_settings(text, file);
  try {
    return toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    throw DataError(place(file, error.source()), fmt::format("is not TOML: {}", error.description()));
  }
}

std::optional<std::vector<double>> numbers_of(const toml::array& array) {
  std::vector<double> values;
  for (const toml::node& element : array) {
    const auto real = element.value<double>();
    if (!element.is_number() || !real) return std::nullopt;
    values.push_back(*real);
  }
  return values;
}

std::optional<std::vector<std::string>> texts_of(const toml::array& array) {
  std::vector<std::string> values;
  for (const toml::node& element : array) {
    const auto* text = element.as_string();
    if (!text) return std::nullopt;
    values.push_back(text->get());
  }
  return values;
}

/// Nothing for a type that no setting has.
std::optional<Value> value_from_node(const toml::node& node) {
  if (const auto* truth = node.as_boolean()) return Value(truth->get());
  if (const auto* integer = node.as_integer()) return Value(integer->get());
  if (const auto* real = node.as_floating_point()) return Value(real->get());
  if (const auto* text = node.as_string()) return Value(text->get());
  if (const auto* array = node.as_array()) {
    if (auto values = numbers_of(*array)) return Value(std::move(*values));
    if (auto values = texts_of(*array)) return Value(std::move(*values));
  }
  return std::nullopt;
}

std::string shown(const toml::node& node, const std::optional<Value>& value) {
  if (!value) return node.is_table() ? "a table" : node.is_array() ? "a list" : "a date or time";
  std::string text = to_toml_text(*value);
  if (text.size() <= kLongestShown) return text;
  std::size_t end = kLongestShown;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    --end;  // whole UTF-8 characters only
  return text.substr(0, end) + "...";
}

/// What an unknown key most likely meant, first in its own section; else the section's keys.
std::string hint(std::string_view section, std::string_view key) {
  std::vector<std::string> here, elsewhere;
  for (const Field& field : fields()) (field.section == section ? here : elsewhere).push_back(field.name);
  const bool is_elsewhere = std::find(elsewhere.begin(), elsewhere.end(), key) != elsewhere.end();
  if (const std::string name = nearest(key, here); !is_elsewhere && !name.empty()) {
    return fmt::format("did you mean {}?", name);
  }
  const std::string name = nearest(key, elsewhere);
  for (const Field& field : fields()) {
    if (field.name == name) return fmt::format("did you mean {} in [{}]?", name, field.section);
  }
  return fmt::format("expected one of {}", fmt::join(here, ", "));
}

void refuse_unknown_keys(const toml::table& document, std::string_view file) {
  for (const auto& [section, node] : document) {
    const auto in_section = [&](const Field& field) { return field.section == section.str(); };
    if (std::none_of(fields().begin(), fields().end(), in_section)) {
      throw ConfigError(
          place(file, section.source()),
          fmt::format("\"{}\" is no section, expected [task], [model] or [train]", section.str()));
    }
    if (!node.is_table()) {
      throw ConfigError(place(file, section.source()),
                        fmt::format("{} is a value, expected a section [{}]", section.str(), section.str()));
    }
    for (const auto& [key, value] : *node.as_table()) {
      const auto is_key = [&](const Field& field) { return in_section(field) && field.name == key.str(); };
      if (std::none_of(fields().begin(), fields().end(), is_key)) {
        throw ConfigError(place(file, key.source()), fmt::format("{}.{} is no setting, {}", section.str(),
                                                                 key.str(), hint(section.str(), key.str())));
      }
    }
  }
}

}  // namespace

void read_toml(std::string_view text, std::string_view file, RunConfig& config) {
  const toml::table document = parse(text, file);
  refuse_unknown_keys(document, file);
  RunConfig changed = config;
  for (const Field& field : fields()) {
    const toml::node* node = document[field.section][field.name].node();
    if (!node) continue;
    const std::optional<Value> value = value_from_node(*node);
    if (!value || !assign(field, *value, changed)) {
      const std::string fault = value ? fault_of(field, *value) : "";
      throw ConfigError(place(file, node->source()),
                        fmt::format("{}.{} = {}{}, expected {}", field.section, field.name,
                                    shown(*node, value), fault.empty() ? "" : ": " + fault, allowed(field)));
    }
  }
  config = std::move(changed);
}

std::string to_toml(const RunConfig& config) {
  std::string text, section;
  for (const Field& field : fields()) {
    if (field.section != section) {
      section = field.section;
      text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", section);
    }
    text += fmt::format("{} = {}\n", field.name, to_toml_text(value_of(field, config)));
  }
  return text;
}

}  // namespace headtorch::train
