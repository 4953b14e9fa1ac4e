#include "src/cli/head_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "src/cli/heads_document.hpp"
#include "src/probe/kernel_maps.hpp"
#include "src/probe/rollout.hpp"
#include "src/report/arrays.hpp"
#include "src/report/figures.hpp"
#include "src/report/heatmap.hpp"

namespace headtorch::cli {
namespace {

/// What reaches each position of a stack's last layer from each position of its input.
void write_rollout(const AttentionMaps& maps, Stack stack, Files& files) {
  std::vector<const LayerWeights*> layers;
  for (const LayerWeights& layer : maps.layers) {
    if (layer.stack == stack) layers.push_back(&layer);
  }
  if (layers.empty()) return;
  const LayerWeights& first = *layers.front();
  const bool alike = std::all_of(layers.begin(), layers.end(), [&](const LayerWeights* other) {
    return other->queries == first.queries && other->keys == first.queries;
  });
  if (!alike) return;
  const std::string prefix = stack == Stack::kSelf ? "" : fmt::format("{}-", stack_name(stack));
  AttentionMaps rolled = maps;
  rolled.task = fmt::format("{}, rollout of all {}layers", maps.task,
                            stack == Stack::kSelf ? "" : fmt::format("{} ", stack_name(stack)));
  const std::vector<double> cells = probe::rollout(maps, 0, stack);
  rolled.layers = {{1, 1, first.queries, first.keys, {cells.begin(), cells.end()}, stack, 0}};
  files.write(prefix + "rollout.npy", report::npy(rolled.layers.front()));
  files.write(prefix + "rollout.png", report::draw_heatmap(rolled, {.head = 0}));
}

}  // namespace

void write_head_files(const AttentionMaps& maps, const std::vector<probe::HeadReport>& heads, Files& files) {
  files.write("heads.csv", heads_csv(heads));
  const AttentionMaps fitted = probe::kernel_maps(maps, heads);
  std::vector<std::vector<std::string>> sentences(maps.layers.size());
  for (const probe::HeadReport& head : heads) {
    if (const auto layer = find_layer(maps, head.place())) sentences[*layer].push_back(sentence(head));
  }
  for (std::size_t layer = 0; layer < sentences.size(); ++layer) {
    files.write(
        fmt::format("kernels-{}.png", layer_file_name(maps.layers[layer].stack, maps.layers[layer].layer)),
        report::draw_kernels(maps, fitted, sentences[layer], {.layer = static_cast<std::int64_t>(layer)}));
  }
  for (const Stack stack : {Stack::kSelf, Stack::kEncoder, Stack::kDecoder})
    write_rollout(maps, stack, files);
}

nlohmann::ordered_json draw_examples(const AttentionMaps& maps, const HeadPlace& place, Files& files) {
  const std::vector<double> strengths = probe::strengths(maps, place, {});
  const SequenceLabels& labels = query_labels(maps, place.stack);
  std::vector<std::size_t> order(strengths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return strengths[a] > strengths[b]; });
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  const std::array<std::pair<const char*, std::size_t>, 3> kinds = {
      {{"strongest", 0}, {"typical", order.size() / 2}, {"weakest", order.size() - 1}}};
  for (const auto& [kind, rank] : kinds) {
    const std::size_t sample = order[rank];
    const report::HeatmapRequest request{.layer = static_cast<std::int64_t>(find_layer(maps, place).value()),
                                         .head = place.head,
                                         .sample = static_cast<std::int64_t>(sample)};
    files.write(fmt::format("{}-head-{}-{}.png", layer_file_name(place.stack, place.layer), place.head, kind),
                report::draw_heatmap(maps, request));
    list.push_back(
        {{"kind", kind},
         {"sample", sample},
         {"strength", report::finite_or_null(strengths[sample])},
         {"tokens", sample < labels.tokens.size() ? labels.tokens[sample] : std::vector<std::string>()},
         {"file", files.paths().back()}});
  }
  return list;
}

}  // namespace headtorch::cli
