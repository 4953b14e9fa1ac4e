#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/core/attention_maps.hpp"
#include "src/report/colour_map.hpp"
#include "src/store/run_folder.hpp"

namespace headtorch::cli {

/// Takes one file: a path relative to wherever files go, and its bytes.
using FileSink = std::function<void(const std::filesystem::path& name, const std::string& bytes)>;

enum class ArtifactFormat { kPng, kSvg, kCsv, kNpy, kJson, kText };

/// Which weights to write, in which formats; without layers, or a head, all.
struct ArtifactRequest {
  std::vector<std::int64_t> layers = {};  ///< in AttentionMaps::layers
  std::optional<std::int64_t> head = {};
  std::int64_t sample = 0;
  report::ColorRange color_range = report::ColorRange::kUnit;
  std::vector<ArtifactFormat> formats = {ArtifactFormat::kPng, ArtifactFormat::kSvg};
};

/// PNG and SVG: `layer-L.EXT` with all heads on one scale and `layer-L-head-H.EXT` with one; without a head
/// and where keys are patches of an image also `layer-L-image.EXT`. CSV: one head a file. NPY: `layer-L.npy`,
/// [heads, queries, keys], or one head's [queries, keys]. JSON: `weights.json`. Text: `layer-L.txt`. In an
/// encoder-decoder names begin with the stack: `cross-layer-L.EXT`.
/// @throws ConfigError naming the range when layer, head or sample are outside it; nothing is written then.
void write_artifacts(const AttentionMaps& maps, const ArtifactRequest& request, const FileSink& sink);

/// Layers and heads that a request names.  @throws ConfigError when they are not there.
std::vector<std::int64_t> layers_of(const AttentionMaps& maps, const ArtifactRequest& request);

/// attention/step-NNNNNNNN/: layer-L.npy (encoder-layer-L.npy, ... in an encoder-decoder), float32 [samples,
/// heads, queries, keys], and tokens.json (docs/run_folder.md).
void store_attention(const store::RunFolder& run, const AttentionMaps& maps);
/// Steps with stored attention, ascending.
std::vector<std::int64_t> stored_attention_steps(const store::RunFolder& run);
/// @throws DataError naming the damaged file.
AttentionMaps load_attention(const store::RunFolder& run, std::int64_t step);

}  // namespace headtorch::cli
