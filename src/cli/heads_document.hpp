#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/probe/head_report.hpp"
#include "train/head_study.hpp"

// What is said of heads, for programs (docs/reading_heads.md).

namespace headtorch::cli {

/// {layer, head, [stack], one {value, low, high, rows, chance} a score, kernel: {...}, labels, sentence}.
nlohmann::ordered_json head_document(const probe::HeadReport& head);
nlohmann::ordered_json heads_list(const std::vector<probe::HeadReport>& heads);

/// {n, accuracy name: value, loss} of the model as it is and with every head replaced.
nlohmann::ordered_json replaced_document(const train::HeadStudy& study);
/// {run, step, n_fit, n_judge, heads, all_replaced}.
nlohmann::ordered_json study_document(const std::string& run, const train::HeadStudy& study);

/// All numbers of each head: a line a head, scores with low, high, rows and chance in columns of their own.
std::string heads_csv(const std::vector<probe::HeadReport>& heads);

/// "With every head replaced by its kernel, accuracy stays 1.00 (512 test examples)."
std::string replaced_sentence(const train::HeadStudy& study);

}  // namespace headtorch::cli
