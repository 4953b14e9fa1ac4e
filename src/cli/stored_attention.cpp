#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "src/cli/artifacts.hpp"
#include "src/core/error.hpp"
#include "src/core/file.hpp"
#include "src/report/arrays.hpp"

namespace headtorch::cli {
namespace fs = std::filesystem;
namespace {

constexpr const char* kFolder = "attention";
constexpr const char* kTokensFile = "tokens.json";
constexpr std::int64_t kLargestSize = std::int64_t{1} << 20;
constexpr std::int64_t kLargestSide = 4096;  // of an image, in patches or pixels: no product overflows

fs::path folder_of(std::int64_t step) { return fs::path(kFolder) / store::step_name(step); }

/// Four sizes after `'shape': (`; zeros when they are not there.
LayerWeights read_shape(std::string_view header) {
  LayerWeights layer;
  std::size_t at = header.find("'shape': (");
  if (at == std::string_view::npos) return layer;
  at += std::strlen("'shape': (");
  for (std::int64_t* size : {&layer.samples, &layer.heads, &layer.queries, &layer.keys}) {
    const auto [end, error] = std::from_chars(header.data() + at, header.data() + header.size(), *size);
    if (error != std::errc() || *size < 1 || *size > kLargestSize) return {};
    at = std::min(static_cast<std::size_t>(end - header.data()) + 2, header.size());
  }
  return layer;
}

/// The array as this program writes it: what would be written again must equal the bytes.
LayerWeights read_layer(const std::string& bytes, const fs::path& path) {
  constexpr std::size_t kPreamble = 10;
  LayerWeights layer = read_shape(std::string_view(bytes).substr(0, 256));
  const std::size_t header_size =
      bytes.size() < kPreamble
          ? 0
          : kPreamble + static_cast<unsigned char>(bytes[8]) + 256u * static_cast<unsigned char>(bytes[9]);
  const bool fits =
      header_size > 0 && header_size <= bytes.size() && (bytes.size() - header_size) % sizeof(float) == 0;
  if (fits) {
    layer.values.resize((bytes.size() - header_size) / sizeof(float));
    std::memcpy(layer.values.data(), bytes.data() + header_size, layer.values.size() * sizeof(float));
  }
  const auto count = static_cast<std::uint64_t>(layer.values.size());
  const auto rows = static_cast<std::uint64_t>(layer.samples * layer.heads);
  const auto cells = static_cast<std::uint64_t>(layer.queries * layer.keys);
  const bool whole = fits && rows > 0 && cells > 0 && count / rows == cells && count % rows == 0;
  if (!whole || report::npy(layer) != bytes) {
    throw DataError(path.string(),
                    "is damaged: expected float32 [samples, heads, queries, keys] as train writes them");
  }
  return layer;
}

/// Ids as they are stored; folders of before they were have texts alone.
void read_labels(const nlohmann::json& document, SequenceLabels& labels) {
  document.at("tokens").get_to(labels.tokens);
  if (document.contains("ids")) {
    document.at("ids").get_to(labels.ids);
  } else {
    for (const auto& tokens : labels.tokens) labels.ids.push_back(token_ids(tokens));
  }
  if (document.contains("lengths")) document.at("lengths").get_to(labels.lengths);
}

bool fits(const SequenceLabels& labels, std::size_t samples) {
  if (labels.tokens.size() != samples || labels.ids.size() != samples) return false;
  for (std::size_t sample = 0; sample < samples; ++sample) {
    if (labels.ids[sample].size() != labels.tokens[sample].size()) return false;
  }
  for (const std::int64_t length : labels.lengths) {
    if (length < 0 || std::cmp_greater(length, labels.tokens.front().size())) return false;
  }
  return labels.lengths.empty() || labels.lengths.size() == samples;
}

PatchedImage read_image(const nlohmann::json& document) {
  PatchedImage image{document.at("rows").get<std::int64_t>(), document.at("columns").get<std::int64_t>(),
                     document.at("patch").get<std::int64_t>(), document.at("first").get<std::int64_t>(),
                     document.at("pixels").get<std::vector<std::vector<float>>>()};
  return image;
}

bool fits(const PatchedImage& image, std::size_t samples) {
  if (image.rows == 0) return true;
  for (const std::int64_t size : {image.rows, image.columns, image.patch}) {
    if (size < 1 || size > kLargestSide) return false;
  }
  const std::int64_t pixels = image.rows * image.columns * image.patch * image.patch;
  return image.first >= 0 && image.first <= kLargestSize && image.pixels.size() == samples &&
         std::all_of(image.pixels.begin(), image.pixels.end(),
                     [&](const auto& one) { return std::cmp_equal(one.size(), pixels); });
}

void read_tokens(const std::string& text, const fs::path& path, AttentionMaps& maps) {
  bool whole = false;
  try {
    const auto document = nlohmann::json::parse(text);
    document.at("task").get_to(maps.task);
    read_labels(document, maps);
    maps.causal = document.value("causal", false);
    maps.window = document.value("window", std::int64_t{-1});
    maps.hidden = document.value("hidden", std::vector<std::int64_t>());
    if (document.contains("source")) read_labels(document.at("source"), maps.source);
    if (document.contains("image")) maps.image = read_image(document.at("image"));
    const std::size_t samples = maps.tokens.size();
    whole = samples > 0 && fits(maps, samples) && fits(maps.image, samples) &&
            (maps.source.tokens.empty() || fits(maps.source, samples));
  } catch (const nlohmann::json::exception&) {
    whole = false;
  }
  if (!whole) {
    throw DataError(path.string(),
                    "is damaged: expected a JSON document with task and tokens, all of as many samples");
  }
}

nlohmann::ordered_json labels_document(const SequenceLabels& labels) {
  nlohmann::ordered_json document = {{"tokens", labels.tokens}};
  if (!labels.ids.empty()) document["ids"] = labels.ids;
  if (!labels.lengths.empty()) document["lengths"] = labels.lengths;
  return document;
}

/// What is the same for all layers; parts that a model has not are left out.
nlohmann::ordered_json tokens_document(const AttentionMaps& maps) {
  nlohmann::ordered_json document = {{"task", maps.task}, {"step", maps.step}, {"causal", maps.causal}};
  document.update(labels_document(maps));
  if (maps.window >= 0) document["window"] = maps.window;
  if (!maps.hidden.empty()) document["hidden"] = maps.hidden;
  if (!maps.source.tokens.empty()) document["source"] = labels_document(maps.source);
  if (maps.image.rows > 0) {
    document["image"] = {{"rows", maps.image.rows},
                         {"columns", maps.image.columns},
                         {"patch", maps.image.patch},
                         {"first", maps.image.first},
                         {"pixels", maps.image.pixels}};
  }
  return document;
}

void check_against_tokens(const LayerWeights& layer, const AttentionMaps& maps, const fs::path& path) {
  if (layer.samples != std::ssize(maps.tokens)) {
    throw DataError(path.string(), fmt::format("has {} samples, but {} has {}", layer.samples, kTokensFile,
                                               maps.tokens.size()));
  }
  const SequenceLabels& keys = key_labels(maps, layer.stack);
  const bool too_long = std::any_of(keys.lengths.begin(), keys.lengths.end(),
                                    [&](std::int64_t length) { return length > layer.keys; });
  const PatchedImage* image = key_image(maps, layer.stack);
  if (too_long || (image != nullptr && image->first + image->rows * image->columns > layer.keys)) {
    throw DataError(path.string(), fmt::format("has {} keys, fewer than {} says", layer.keys, kTokensFile));
  }
}

}  // namespace

void store_attention(const store::RunFolder& run, const AttentionMaps& maps) {
  const fs::path folder = folder_of(maps.step);
  for (const LayerWeights& layer : maps.layers) {
    run.write(folder / (layer_file_name(layer.stack, layer.layer) + ".npy"), report::npy(layer));
  }
  run.write(
      folder / kTokensFile,
      tokens_document(maps).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

std::vector<std::int64_t> stored_attention_steps(const store::RunFolder& run) {
  std::vector<std::int64_t> steps;
  std::error_code failed;
  for (fs::directory_iterator entry(run.path() / kFolder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    std::int64_t step = -1;
    const std::size_t digits = std::min(name.find('-') + 1, name.size());
    std::from_chars(name.data() + digits, name.data() + name.size(), step);
    std::error_code absent;
    if (step >= 0 && name == store::step_name(step) &&
        fs::is_regular_file(entry->path() / kTokensFile, absent)) {
      steps.push_back(step);
    }
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

AttentionMaps load_attention(const store::RunFolder& run, std::int64_t step) {
  const fs::path folder = run.path() / folder_of(step);
  AttentionMaps maps;
  maps.step = step;
  read_tokens(read_file(folder / kTokensFile), folder / kTokensFile, maps);
  std::error_code absent;
  for (const Stack stack : {Stack::kSelf, Stack::kEncoder, Stack::kDecoder, Stack::kCross}) {
    for (std::int64_t number = 0;; ++number) {
      const fs::path path = run.path() / folder_of(step) / (layer_file_name(stack, number) + ".npy");
      if (!fs::exists(path, absent)) break;
      LayerWeights layer = read_layer(read_file(path), path);
      layer.stack = stack;
      layer.layer = number;
      check_against_tokens(layer, maps, path);
      maps.layers.push_back(std::move(layer));
    }
  }
  if (maps.layers.empty()) throw DataError(folder.string(), "holds no weights, expected layer-0.npy");
  return maps;
}

}  // namespace headtorch::cli
