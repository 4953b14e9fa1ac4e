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

/// heads.csv; kernels-layer-L.png (kernels-cross-layer-L.png, ... in an encoder-decoder); rollout.npy and
/// rollout.png where all layers are square and alike (encoder-rollout.npy, decoder-rollout.npy, ...: within a
/// stack, cross-attention left out).
void write_head_files(const AttentionMaps& maps, const std::vector<probe::HeadReport>& heads, Files& files);

/// Draws the inputs on which a head is furthest from uniform, typical, and nearest: layer-L-head-H-KIND.png
/// (cross-layer-L-head-H-KIND.png, ...). `place` is in the maps.
/// @returns [{kind, sample, strength, tokens, file}], strength in nats.
nlohmann::ordered_json draw_examples(const AttentionMaps& maps, const HeadPlace& place, Files& files);

}  // namespace headtorch::cli
