#pragma once

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "src/probe/head_report.hpp"
#include "src/report/page.hpp"

// From the documents of a run to parts of its page. Keys that are absent leave cells empty; lists that are
// absent give parts that are empty.

namespace headtorch::cli {

/// Of `heads --json`: a row a head, a column a score.
report::PageTable scores_table(const nlohmann::ordered_json& document);
std::vector<report::PageSentence> sentences_of(const nlohmann::ordered_json& document);
/// Layer, head and nearest kernel alone.  @throws ConfigError for a kernel that cannot be read.
std::vector<probe::HeadReport> kernels_of(const nlohmann::ordered_json& document);

/// Of `diagnose --json`.
std::vector<report::PageFinding> findings_of(const nlohmann::ordered_json& document);
/// Of `compare --json`: the verdict and the rows.
report::PageTable compare_table(const nlohmann::ordered_json& document);
/// Of config.toml.
report::PageTable settings_table(std::string_view toml);

/// Of the lines of metrics.jsonl: loss, rate, gradient norm, accuracy against the step.
std::vector<report::PageCurve> training_curves(const std::vector<nlohmann::ordered_json>& lines);
/// Of the lines of heads.jsonl: scores and bandwidth of each head against the step; none for a single step.
std::vector<report::PageCurve> head_curves(const std::vector<nlohmann::ordered_json>& lines);

}  // namespace headtorch::cli
