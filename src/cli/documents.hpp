#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "train/comparison.hpp"
#include "train/run.hpp"

// What is written for programs: lines of metrics.jsonl and the documents of --json. The order of keys is
// fixed; numbers are the shortest text that reads back the same, null when not finite (docs/run_folder.md).

namespace headtorch::cli {

std::string metrics_line(const train::StepMetrics& metrics);
std::string evaluation_line(std::int64_t step, const train::Evaluation& evaluation, double wall_seconds);

/// "complete", "interrupted", "terminated", "diverged".
std::string ending_name(train::Ending ending);
nlohmann::ordered_json run_document(const std::string& run, const train::RunConfig& config,
                                    const train::RunResult& result, const std::vector<std::string>& notes);
/// @param match what --match asked for.
nlohmann::ordered_json comparison_document(const train::RunConfig& config,
                                           const train::Comparison& comparison, std::string_view match);

}  // namespace headtorch::cli
