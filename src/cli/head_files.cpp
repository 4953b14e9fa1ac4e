#include "src/cli/head_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "src/cli/heads_document.hpp"
#include "src/cli/numbers.hpp"
#include "src/core/error.hpp"
#include "src/probe/kernel_maps.hpp"
#include "src/probe/rollout.hpp"
#include "src/report/arrays.hpp"
#include "src/report/figures.hpp"
#include "src/report/heatmap.hpp"

namespace headtorch::cli {
namespace {

/// What reaches each position of the last layer from each position of the input, over all layers.
void write_rollout(const AttentionMaps& maps, Files& files) {
  const LayerWeights& layer = maps.layers.front();
  const bool alike = std::all_of(maps.layers.begin(), maps.layers.end(), [&](const LayerWeights& other) {
    return other.queries == layer.queries && other.keys == layer.queries;
  });
  if (!alike) return;
  AttentionMaps rolled = maps;
  rolled.task = maps.task + ", rollout of all layers";
  const std::vector<double> cells = probe::rollout(maps, 0);
  rolled.layers = {{1, 1, layer.queries, layer.keys, {cells.begin(), cells.end()}}};
  rolled.tokens.resize(std::min<std::size_t>(maps.tokens.size(), 1));
  files.write("rollout.npy", report::npy(rolled.layers.front()));
  files.write("rollout.png", report::draw_heatmap(rolled, {.head = 0}));
}

}  // namespace

void write_head_files(const AttentionMaps& maps, const std::vector<probe::HeadReport>& heads, Files& files) {
  files.write("heads.csv", heads_csv(heads));
  const AttentionMaps fitted = probe::kernel_maps(maps, heads);
  std::vector<std::vector<std::string>> sentences(maps.layers.size());
  for (const probe::HeadReport& head : heads) {
    sentences[static_cast<std::size_t>(head.layer)].push_back(sentence(head));
  }
  for (std::size_t layer = 0; layer < sentences.size(); ++layer) {
    files.write(
        fmt::format("kernels-layer-{}.png", layer),
        report::draw_kernels(maps, fitted, sentences[layer], {.layer = static_cast<std::int64_t>(layer)}));
  }
  write_rollout(maps, files);
}

HeadPlace parse_place(const std::string& text, std::int64_t n_layers, std::int64_t n_heads) {
  const std::size_t dot = text.find('.');
  if (dot == std::string::npos) {
    throw UsageError("--examples",
                     fmt::format("\"{}\" cannot be read, expected LAYER.HEAD, such as 1.0", text));
  }
  HeadPlace place;
  place.layer = whole_number("--examples", text.substr(0, dot), 0, n_layers - 1);
  place.head = whole_number("--examples", text.substr(dot + 1), 0, n_heads - 1);
  return place;
}

nlohmann::ordered_json draw_examples(const AttentionMaps& maps, const HeadPlace& place, Files& files) {
  const std::vector<double> strengths = probe::strengths(maps, place.layer, place.head, {});
  std::vector<std::size_t> order(strengths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return strengths[a] > strengths[b]; });
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  const std::array<std::pair<const char*, std::size_t>, 3> kinds = {
      {{"strongest", 0}, {"typical", order.size() / 2}, {"weakest", order.size() - 1}}};
  for (const auto& [kind, rank] : kinds) {
    const std::size_t sample = order[rank];
    const report::HeatmapRequest request{
        .layer = place.layer, .head = place.head, .sample = static_cast<std::int64_t>(sample)};
    files.write(fmt::format("layer-{}-head-{}-{}.png", place.layer, place.head, kind),
                report::draw_heatmap(maps, request));
    list.push_back(
        {{"kind", kind},
         {"sample", sample},
         {"strength", report::finite_or_null(strengths[sample])},
         {"tokens", sample < maps.tokens.size() ? maps.tokens[sample] : std::vector<std::string>()},
         {"file", files.paths().back()}});
  }
  return list;
}

}  // namespace headtorch::cli
