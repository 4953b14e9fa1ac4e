#include "src/store/json_weights.hpp"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "src/core/error.hpp"

namespace headtorch::store {
namespace {

using nlohmann::json;

constexpr std::size_t kMostDimensions = 5;

[[noreturn]] void fail(std::string_view file, std::string_view what) {
  throw DataError(file, fmt::format("{}, expected [heads][query][key] or [layers][heads][query][key]", what));
}

std::vector<std::int64_t> shape_of(const json& list, std::string_view file) {
  std::vector<std::int64_t> shape;
  for (const json* inner = &list; inner->is_array(); inner = &inner->front()) {
    if (inner->empty()) fail(file, "holds an empty list");
    if (shape.size() == kMostDimensions) fail(file, "holds lists nested deeper than five");
    shape.push_back(static_cast<std::int64_t>(inner->size()));
  }
  return shape;
}

void flatten(const json& value, std::size_t depth, std::string_view file, Array& array) {
  if (depth == array.shape.size()) {
    if (value.is_number()) {
      array.values.push_back(static_cast<float>(value.get<double>()));
    } else if (value.is_null()) {
      array.values.push_back(std::numeric_limits<float>::quiet_NaN());
    } else {
      fail(file, fmt::format("holds a {} where a number was due", value.type_name()));
    }
    return;
  }
  const auto size = static_cast<std::size_t>(array.shape[depth]);
  if (!value.is_array() || value.size() != size)
    fail(file, fmt::format("holds a ragged list, not always {} at depth {}", size, depth));
  for (const json& inner : value) flatten(inner, depth + 1, file, array);
}

TokenList tokens_in(const json& object, const char* key, std::string_view file) {
  const auto found = object.find(key);
  if (found == object.end()) return {};
  return token_list(*found, file);
}

}  // namespace

JsonWeights read_json_weights(std::string_view text, std::string_view file) {
  json document;
  try {
    document = json::parse(text);
  } catch (const json::exception& error) {
    throw DataError(file, fmt::format("is no JSON document ({}), expected nested lists of numbers",
                                      one_line(error.what())));
  }
  JsonWeights weights;
  const json* list = &document;
  if (document.is_object()) {
    if (!document.contains("attention")) fail(file, "is an object without \"attention\"");
    list = &document["attention"];
    weights.tokens = tokens_in(document, "tokens", file);
    const bool wrapped = list->is_array() && list->size() == 1 && list->front().is_object();
    if (wrapped) {
      const json& first = list->front();
      if (!first.contains("attn")) fail(file, "has \"attention\" without \"attn\"");
      weights.tokens = tokens_in(first, "left_text", file);
      list = &first["attn"];
    }
  }
  if (!list->is_array()) fail(file, fmt::format("holds a {} for the weights", list->type_name()));
  weights.array.shape = shape_of(*list, file);
  flatten(*list, 0, file, weights.array);
  return weights;
}

}  // namespace headtorch::store
