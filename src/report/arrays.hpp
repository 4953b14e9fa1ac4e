#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/core/attention_maps.hpp"
#include "src/report/maps.hpp"

namespace headtorch::report {

/// The number, or null when it is not finite: JSON has no NaN.
nlohmann::json finite_or_null(double value);

/// A field of a CSV line (RFC 4180), quoted where it has to be.
std::string csv_field(std::string_view field);

/// A .npy file, version 1.0: "<f4", C order, header padded to a multiple of 64 bytes. Source:
/// numpy.lib.format.
/// @throws ShapeError unless the shape holds as many values as there are.
std::string npy(std::span<const float> values, std::span<const std::int64_t> shape);
/// Shape [samples, heads, queries, keys].
std::string npy(const LayerWeights& layer);

/// One head as CSV (RFC 4180, but lines end in LF): header "query" and the key tokens, then a line a query:
/// its token and its weights, each the shortest text that reads back as the same float32 ("nan", "inf" when
/// not finite).
/// @throws as `select`.
std::string csv(const AttentionMaps& maps, const Selection& selection);

/// What a JSON document holds; without layers (of AttentionMaps::layers), or without a head, all.
struct JsonRequest {
  std::int64_t sample = 0;
  std::vector<std::int64_t> layers = {};
  std::optional<std::int64_t> head = {};
};

/// {task, step, sample, layers: [{layer, query_tokens, key_tokens, heads: [{head, entropy,
/// rows_that_see_nothing, weights: [query][key]}]}]}; a layer of an encoder-decoder also has its stack.
/// Numbers that are not finite are null; tokens that are not UTF-8 get U+FFFD.
/// @throws as `select`.
std::string json(const AttentionMaps& maps, const JsonRequest& request);

}  // namespace headtorch::report
