#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "src/core/head_place.hpp"

namespace headtorch::cli {

/// {layer, head}, and in an encoder-decoder {layer, head, stack}.
inline nlohmann::ordered_json place_document(const HeadPlace& place) {
  nlohmann::ordered_json document = {{"layer", place.layer}, {"head", place.head}};
  if (place.stack != Stack::kSelf) document["stack"] = stack_name(place.stack);
  return document;
}

/// Zeros for what is absent.
inline HeadPlace place_of(const nlohmann::ordered_json& document) {
  const auto number = [&](const char* key) -> std::int64_t {
    const auto found = document.is_object() ? document.find(key) : document.end();
    return found != document.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
  };
  HeadPlace place{number("layer"), number("head")};
  if (document.is_object() && document.contains("stack") && document["stack"].is_string()) {
    place.stack = parse_stack(document["stack"].get<std::string>()).value_or(Stack::kSelf);
  }
  return place;
}

}  // namespace headtorch::cli
