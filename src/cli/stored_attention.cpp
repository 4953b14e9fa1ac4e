#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>
#include <system_error>

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

fs::path folder_of(std::int64_t step) { return fs::path(kFolder) / store::step_name(step); }

std::string layer_file(std::size_t layer) { return fmt::format("layer-{}.npy", layer); }

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

void read_tokens(const std::string& text, const fs::path& path, AttentionMaps& maps) {
  try {
    const auto document = nlohmann::json::parse(text);
    document.at("task").get_to(maps.task);
    document.at("tokens").get_to(maps.tokens);
    maps.causal = document.value("causal", false);
    for (const auto& tokens : maps.tokens) maps.ids.push_back(token_ids(tokens));
  } catch (const nlohmann::json::exception&) {
    throw DataError(path.string(), "is damaged: expected a JSON document with task and tokens");
  }
}

}  // namespace

void store_attention(const store::RunFolder& run, const AttentionMaps& maps) {
  const fs::path folder = folder_of(maps.step);
  for (std::size_t layer = 0; layer < maps.layers.size(); ++layer) {
    run.write(folder / layer_file(layer), report::npy(maps.layers[layer]));
  }
  const nlohmann::ordered_json tokens = {
      {"task", maps.task}, {"step", maps.step}, {"causal", maps.causal}, {"tokens", maps.tokens}};
  run.write(folder / kTokensFile, tokens.dump() + "\n");
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
  for (std::size_t layer = 0; fs::exists(folder / layer_file(layer), absent); ++layer) {
    const fs::path path = folder / layer_file(layer);
    maps.layers.push_back(read_layer(read_file(path), path));
    if (maps.layers.back().samples != static_cast<std::int64_t>(maps.tokens.size())) {
      throw DataError(path.string(), fmt::format("has {} samples, but {} has {}", maps.layers.back().samples,
                                                 kTokensFile, maps.tokens.size()));
    }
  }
  if (maps.layers.empty()) throw DataError(folder.string(), "holds no weights, expected layer-0.npy");
  return maps;
}

}  // namespace headtorch::cli
