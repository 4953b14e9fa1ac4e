#include "src/cli/artifacts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/core/error.hpp"
#include "src/report/arrays.hpp"
#include "src/report/figures.hpp"
#include "src/report/heatmap.hpp"
#include "src/report/terminal.hpp"

namespace headtorch::cli {
namespace {

constexpr std::int64_t kTextColumns = 120;

struct HeadRange {
  std::int64_t first, last;  ///< half open
};

/// One request against the maps it is about.
class Writer {
 public:
  Writer(const AttentionMaps& maps, const ArtifactRequest& request, const FileSink& sink)
      : maps_(maps), request_(request), sink_(sink) {}

  void write(ArtifactFormat format) const {
    if (format == ArtifactFormat::kJson) {
      sink_("weights.json", report::json(maps_, {request_.sample, request_.layers, request_.head}));
      return;
    }
    for (const std::int64_t layer : layers_of(maps_, request_)) {
      switch (format) {
        case ArtifactFormat::kPng:
          draw(layer, report::Format::kPng, "png");
          break;
        case ArtifactFormat::kSvg:
          draw(layer, report::Format::kSvg, "svg");
          break;
        case ArtifactFormat::kCsv:
          write_csv(layer);
          break;
        case ArtifactFormat::kNpy:
          write_npy(layer);
          break;
        case ArtifactFormat::kText:
          write_text(layer);
          break;
        case ArtifactFormat::kJson:
          break;
      }
    }
  }

 private:
  HeadRange heads(std::int64_t layer) const {
    if (request_.head) return {*request_.head, *request_.head + 1};
    return {0, maps_.layers[static_cast<std::size_t>(layer)].heads};
  }

  std::string name(std::int64_t layer) const {
    const LayerWeights& weights = maps_.layers[static_cast<std::size_t>(layer)];
    return layer_file_name(weights.stack, weights.layer);
  }

  void draw(std::int64_t layer, report::Format format, std::string_view extension) const {
    report::HeatmapRequest picture{layer, std::nullopt, request_.sample, request_.color_range, format};
    if (!request_.head) {
      sink_(fmt::format("{}.{}", name(layer), extension), report::draw_heatmap(maps_, picture));
      draw_image(layer, format, extension);
    }
    for (auto [head, end] = heads(layer); head < end; ++head) {
      picture.head = head;
      sink_(fmt::format("{}-head-{}.{}", name(layer), head, extension), report::draw_heatmap(maps_, picture));
    }
  }

  void draw_image(std::int64_t layer, report::Format format, std::string_view extension) const {
    const Stack stack = maps_.layers[static_cast<std::size_t>(layer)].stack;
    const PatchedImage* image = key_image(maps_, stack);
    if (image == nullptr || request_.sample >= std::ssize(image->pixels)) return;
    sink_(fmt::format("{}-image.{}", name(layer), extension),
          report::draw_image_maps(maps_, {layer, request_.sample, format}));
  }

  void write_csv(std::int64_t layer) const {
    for (auto [head, end] = heads(layer); head < end; ++head) {
      sink_(fmt::format("{}-head-{}.csv", name(layer), head),
            report::csv(maps_, {layer, head, request_.sample}));
    }
  }

  void write_npy(std::int64_t layer) const {
    const LayerWeights& weights = maps_.layers[static_cast<std::size_t>(layer)];
    if (request_.head) {
      const std::vector<std::int64_t> shape = {weights.queries, weights.keys};
      sink_(fmt::format("{}-head-{}.npy", name(layer), *request_.head),
            report::npy(weights.head(request_.sample, *request_.head), shape));
      return;
    }
    const std::vector<std::int64_t> shape = {weights.heads, weights.queries, weights.keys};
    const auto size = static_cast<std::size_t>(weights.heads * weights.queries * weights.keys);
    const std::span<const float> sample =
        std::span(weights.values).subspan(static_cast<std::size_t>(request_.sample) * size, size);
    sink_(name(layer) + ".npy", report::npy(sample, shape));
  }

  void write_text(std::int64_t layer) const {
    sink_(name(layer) + ".txt", report::terminal_picture(maps_, {.layer = layer,
                                                                 .head = request_.head,
                                                                 .sample = request_.sample,
                                                                 .color_range = request_.color_range,
                                                                 .columns = kTextColumns,
                                                                 .colour = report::TerminalColour::kPlain}));
  }

  const AttentionMaps& maps_;
  const ArtifactRequest& request_;
  const FileSink& sink_;
};

}  // namespace

std::vector<std::int64_t> layers_of(const AttentionMaps& maps, const ArtifactRequest& request) {
  std::vector<std::int64_t> layers = request.layers;
  for (std::int64_t layer = 0; request.layers.empty() && layer < std::ssize(maps.layers); ++layer) {
    layers.push_back(layer);
  }
  for (const std::int64_t layer : layers) {
    report::select(maps, {layer, request.head.value_or(0), request.sample});
  }
  return layers;
}

void write_artifacts(const AttentionMaps& maps, const ArtifactRequest& request, const FileSink& sink) {
  layers_of(maps, request);
  for (const ArtifactFormat format : request.formats) Writer(maps, request, sink).write(format);
}

}  // namespace headtorch::cli
