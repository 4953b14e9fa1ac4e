#include "src/store/manifest.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <nlohmann/json.hpp>

#include "src/core/error.hpp"

namespace headtorch::store {
namespace {

constexpr int kFormat = 1;

}  // namespace

Manifest::File measure(std::string_view bytes) {
  return {bytes.size(), fmt::format("{:016x}", XXH3_64bits(bytes.data(), bytes.size()))};
}

std::string write_manifest(const Manifest& manifest) {
  nlohmann::ordered_json files = nlohmann::ordered_json::object();
  for (const auto& [name, file] : manifest.files) files[name] = {{"bytes", file.bytes}, {"xxh3", file.xxh3}};
  const nlohmann::ordered_json document = {{"format", kFormat}, {"step", manifest.step}, {"files", files}};
  return document.dump(1) + "\n";
}

Manifest read_manifest(std::string_view json, std::string_view file) {
  const auto document = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  try {
    if (document.is_discarded()) throw DataError(file, "is damaged: expected JSON");
    if (const auto& format = document.at("format"); format != kFormat) {
      throw DataError(file, fmt::format("has format {}: expected {}", format.dump(), kFormat));
    }
    Manifest manifest;
    manifest.step = document.at("step").get<std::int64_t>();
    for (const auto& [name, entry] : document.at("files").items()) {
      manifest.files[name] = {entry.at("bytes").get<std::uint64_t>(), entry.at("xxh3").get<std::string>()};
    }
    return manifest;
  } catch (const nlohmann::json::exception&) {
    throw DataError(file, "is damaged: expected format, step and files, each with bytes and xxh3");
  }
}

}  // namespace headtorch::store
