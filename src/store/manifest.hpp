#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace headtorch::store {

/// What a checkpoint's manifest.json says of its files.
struct Manifest {
  struct File {
    std::uint64_t bytes = 0;
    std::string xxh3;  ///< XXH3, 64 bits, as 16 hexadecimal digits
  };
  std::int64_t step = 0;
  std::map<std::string, File> files;
};

Manifest::File measure(std::string_view bytes);

/// {"format": 1, "step": 600, "files": {NAME: {"bytes": 1234, "xxh3": "0123456789abcdef"}}}
std::string write_manifest(const Manifest& manifest);
/// @throws DataError naming `file` when it is not such a document.
Manifest read_manifest(std::string_view json, std::string_view file);

}  // namespace headtorch::store
