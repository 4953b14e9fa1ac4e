#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "src/probe/summary.hpp"
#include "src/report/arrays.hpp"

namespace headtorch::cli {

/// A number of a document; null when it is not finite or not there.
inline nlohmann::ordered_json json_number(double value) { return report::finite_or_null(value); }
inline nlohmann::ordered_json json_number(const std::optional<double>& value) {
  return value ? json_number(*value) : nlohmann::ordered_json(nullptr);
}

inline nlohmann::ordered_json json_numbers(const std::vector<double>& values) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const double value : values) list.push_back(json_number(value));
  return list;
}

/// Mean, range, interval, and the values of the seeds.
inline nlohmann::ordered_json json_over_seeds(const std::vector<double>& values) {
  const probe::Summary summary = probe::summarise(values);
  return {{"mean", json_number(summary.mean)}, {"min", json_number(summary.min)},
          {"max", json_number(summary.max)},   {"low", json_number(summary.low)},
          {"high", json_number(summary.high)}, {"seeds", json_numbers(values)}};
}

}  // namespace headtorch::cli
