#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/cli/files.hpp"
#include "src/core/attention_maps.hpp"
#include "src/core/head_place.hpp"
#include "src/probe/head_report.hpp"

// What `heads` writes beside what it says (docs/reading_heads.md).

namespace headtorch::cli {

/// heads.csv; kernels-layer-L.png; rollout.npy and rollout.png where all layers are square and alike.
void write_head_files(const AttentionMaps& maps, const std::vector<probe::HeadReport>& heads, Files& files);

/// "1.0": layer and head.  @throws UsageError when it cannot be read, ConfigError for a head that is not
/// there.
HeadPlace parse_place(const std::string& text, std::int64_t n_layers, std::int64_t n_heads);

/// Draws the inputs on which a head is furthest from uniform, typical, and nearest: layer-L-head-H-KIND.png.
/// @returns [{kind, sample, strength, tokens, file}], strength in nats.
nlohmann::ordered_json draw_examples(const AttentionMaps& maps, const HeadPlace& place, Files& files);

}  // namespace headtorch::cli
