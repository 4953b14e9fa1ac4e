#include "src/report/arrays.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "src/core/error.hpp"

namespace headtorch::report {
namespace {

static_assert(std::endian::native == std::endian::little, "weights are written as they lie in memory");

/// The double nearest to the shortest text of a float (null when not finite), so that 0.2f is written as 0.2
/// and not as 0.20000000298.
nlohmann::ordered_json short_number(float value) {
  char text[32];
  const char* end = std::to_chars(text, text + sizeof text, value).ptr;
  double number = 0.0;
  std::from_chars(text, end, number);
  return finite_or_null(number);
}

nlohmann::ordered_json head_json(const LayerWeights& layer, const Selection& selection) {
  const auto weights = layer.head(selection.sample, selection.head);
  const HeadSummary summary = summarise(weights, layer.queries, layer.keys);
  auto rows = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < weights.size(); i += static_cast<std::size_t>(layer.keys)) {
    auto row = nlohmann::ordered_json::array();
    for (const float weight : weights.subspan(i, static_cast<std::size_t>(layer.keys))) {
      row.push_back(short_number(weight));
    }
    rows.push_back(std::move(row));
  }
  return {{"head", selection.head},
          {"entropy", finite_or_null(summary.entropy)},
          {"rows_that_see_nothing", summary.blind},
          {"weights", std::move(rows)}};
}

}  // namespace

nlohmann::json finite_or_null(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr);
}

std::string csv_field(std::string_view field) {
  if (field.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(field);
  }
  std::string text = "\"";
  for (const char c : field) {
    text += c == '"' ? "\"\"" : std::string(1, c);
  }
  return text + "\"";
}

std::string npy(std::span<const float> values, std::span<const std::int64_t> shape) {
  // The product is checked by division, so that sizes whose product overflows are refused too.
  auto rest = static_cast<std::int64_t>(values.size());
  bool fits = true;
  bool empty = false;
  for (const std::int64_t size : shape) {
    empty = empty || size == 0;
    fits = fits && size >= 0 && (size == 0 || rest % size == 0);
    rest = fits && size > 0 ? rest / size : rest;
  }
  if (!fits || (empty ? !values.empty() : rest != 1)) {
    throw ShapeError("npy",
                     fmt::format("{} values do not fill shape [{}]", values.size(), fmt::join(shape, ", ")));
  }
  constexpr std::size_t kPrefix = 10, kAlignment = 64;
  std::string header = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}{}), }}",
                                   fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  header.append(kAlignment - (kPrefix + header.size() + 1) % kAlignment, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  const auto data = std::as_bytes(values);
  bytes.append(reinterpret_cast<const char*>(data.data()), data.size());
  return bytes;
}

std::string npy(const LayerWeights& layer) {
  const std::int64_t shape[] = {layer.samples, layer.heads, layer.queries, layer.keys};
  return npy(layer.values, shape);
}

std::string csv(const AttentionMaps& maps, const Selection& selection) {
  const LayerWeights& layer = select(maps, selection);
  const AxisTokens tokens = axis_tokens(maps, selection);
  const auto weights = layer.head(selection.sample, selection.head);
  std::string text = "query";
  for (const std::string& key : tokens.key) {
    text += ',';
    text += csv_field(key);
  }
  text += "\n";
  auto weight = weights.begin();
  for (const std::string& query : tokens.query) {
    text += csv_field(query);
    for (std::int64_t j = 0; j < layer.keys; ++j) {
      fmt::format_to(std::back_inserter(text), ",{}", *weight++);
    }
    text += "\n";
  }
  return text;
}

std::string json(const AttentionMaps& maps, const JsonRequest& request) {
  nlohmann::ordered_json document = {{"task", maps.task}, {"step", maps.step}, {"sample", request.sample}};
  auto& layers = document["layers"] = nlohmann::ordered_json::array();
  std::vector<std::int64_t> chosen = request.layers;
  for (std::int64_t l = 0; request.layers.empty() && l < std::ssize(maps.layers); ++l) chosen.push_back(l);
  for (const std::int64_t l : chosen) {
    Selection selection{.layer = l, .head = request.head.value_or(0), .sample = request.sample};
    const LayerWeights& layer = select(maps, selection);
    const AxisTokens tokens = axis_tokens(maps, selection);
    auto heads = nlohmann::ordered_json::array();
    const std::int64_t first_head = selection.head;
    for (std::int64_t h = first_head; h < (request.head ? first_head + 1 : layer.heads); ++h) {
      selection.head = h;
      heads.push_back(head_json(layer, selection));
    }
    nlohmann::ordered_json& item = layers.emplace_back();
    item["layer"] = layer.layer;
    if (layer.stack != Stack::kSelf) item["stack"] = stack_name(layer.stack);
    item["query_tokens"] = tokens.query;
    item["key_tokens"] = tokens.key;
    item["heads"] = std::move(heads);
  }
  return document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace headtorch::report
