#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "src/probe/diagnosis.hpp"
#include "train/leak.hpp"

// What `diagnose` says, for programs and for people (docs/diagnosis.md).

namespace headtorch::cli {

/// {run, step, findings: [{cause, severity, sign, value, threshold, remedy, flag}], health: {...},
/// heads: [{layer, head, labels}]}; what is not known is null.
nlohmann::ordered_json diagnosis_document(const std::string& run, std::int64_t step,
                                          const probe::Signs& signs, const probe::Diagnosis& diagnosis);
/// Findings, health, heads: lines of at most 110 columns.
std::string diagnosis_text(const probe::Signs& signs, const probe::Diagnosis& diagnosis);

/// {run, step, may_look_ahead, finite, leaks, checks: [{place, mode, form, largest, query, key}]}.
nlohmann::ordered_json leak_document(const std::string& run, std::int64_t step,
                                     const train::LeakReport& report);
std::string leak_text(const train::LeakReport& report);

}  // namespace headtorch::cli
