#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "src/probe/ablation_report.hpp"
#include "src/report/plot.hpp"
#include "train/ablation.hpp"

// What is lost without heads, for programs and for people (docs/reading_heads.md).

namespace headtorch::cli {

/// {n, loss, token_accuracy, sequence_accuracy}.
nlohmann::ordered_json results_document(const probe::ExampleResults& results);
/// {base, heads: [{layer, head, removed, mean_replaced, uniform, kernel_replaced, ...}], layers, all, greedy,
/// ...}; a change is {value, low, high, accuracy: {value, low, high}}, after minus before.
nlohmann::ordered_json ablation_document(const probe::AblationReport& report);
/// {parameters, steps, seconds, n, loss, ..., change}.
nlohmann::ordered_json one_head_document(const train::OneHead& one);

/// A line a head, layer and the whole model.
std::string ablation_csv(const probe::AblationReport& report);
/// The order in which heads can go, a line a step.
std::string greedy_csv(const probe::AblationReport& report);
/// Loss against heads left: cheapest first, and in random order.
report::Plot greedy_plot(const probe::AblationReport& report, const std::string& title);

/// Both as tables, and what they are.
std::string ablation_text(const probe::AblationReport& report);

}  // namespace headtorch::cli
