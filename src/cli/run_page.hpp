#pragma once

#include <cstdint>
#include <string>

#include "src/core/attention_maps.hpp"
#include "src/report/page.hpp"
#include "src/store/run_folder.hpp"

namespace headtorch::cli {

/// report.html of a run (docs/report_page.md): weights of all stored steps, and what else the folder holds:
/// metrics.jsonl, config.toml, result.json, heads.json, heads.jsonl, compare.json, diagnosis.json.
/// A damaged one of these is left out, which the page and the log say.  @throws DataError naming damaged
/// weights.
std::string run_page(const store::RunFolder& run, const report::PageStart& start = {});

/// The page of weights alone.
std::string maps_page(const AttentionMaps& maps, const report::PageStart& start);

/// The page of weights from elsewhere, with scores and nearest kernels where the weights are within 0..1.
std::string foreign_page(const AttentionMaps& maps, const report::PageStart& start);

}  // namespace headtorch::cli
