#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/core/attention_maps.hpp"

namespace headtorch::report {

/// Weights are stored as codes 0 .. 254 for low + (high - low) (code / 254)^kCodePower, and 255 for what is
/// not finite. The power leaves room for small weights under the logarithmic scale and keeps the error below
/// 1/255 of the range: 1.9 / 2 / 254 = 0.00374.
inline constexpr double kCodePower = 1.9;

inline constexpr std::int64_t kPageCells = 3'500'000;      ///< weights of all maps: 4.7 MB
inline constexpr std::int64_t kLargestCells = 18'000'000;  ///< of one sample of the last step and its kernels

/// Which weights a page holds.
struct PagePlan {
  std::vector<std::size_t> moments;   ///< of the maps, ascending; the last is always among them
  std::vector<std::int64_t> samples;  ///< of each: the first so many
  bool kernels = false;               ///< for the samples of the last
  std::int64_t block = 1;             ///< a cell is the largest weight of block x block
};

/// In this order, while kPageCells last: one sample of the last step with its kernels, one of each earlier
/// step (evenly spread when not all fit), more samples of the last step, all samples of all. The first part
/// may take kLargestCells; beyond, the kernels go, then cells are joined to the smallest blocks that fit.
PagePlan plan_page(const std::vector<AttentionMaps>& maps, bool has_kernels);

/// {power, moments: [{step, tokens, source, layers: [{name, title, rows, columns, pictured, heads, queries,
/// keys, low, high, codes}], image: {rows, columns, patch, first, pixels}}], kernels}. Codes are base64 of
/// [samples, heads, queries, keys], pixels of 8-bit grey; tokens are made visible. `rows` and `columns` say
/// whether they are "tokens" or those of the "source", which is there in an encoder-decoder; `pictured`: keys
/// are patches of the image.
nlohmann::ordered_json maps_document(const std::vector<AttentionMaps>& maps,
                                     const std::optional<AttentionMaps>& kernels, const PagePlan& plan);

/// Bytes as text (RFC 4648, with padding).
std::string base64(std::string_view bytes);

/// What the plan left out and how weights are rounded, a sentence each.
std::vector<std::string> plan_notes(const std::vector<AttentionMaps>& maps, const PagePlan& plan);

}  // namespace headtorch::report
