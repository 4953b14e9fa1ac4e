#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "src/report/arrays.hpp"

namespace headtorch::cli {

/// A number of a document; null when it is not finite or not there.
inline nlohmann::ordered_json json_number(double value) { return report::finite_or_null(value); }
inline nlohmann::ordered_json json_number(const std::optional<double>& value) {
  return value ? json_number(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace headtorch::cli
