#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace headtorch::store {

/// Element types of the safetensors format that this project reads and writes.
enum class DType { kBool, kU8, kI8, kU16, kI16, kF16, kBF16, kU32, kI32, kF32, kU64, kI64, kF64 };
std::int64_t bytes_per_element(DType dtype);

/// A tensor as bytes: contiguous, row-major, little-endian.
struct StoredTensor {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  std::string bytes;
};

/// Names and tensors of one file, and its free-text metadata.
struct TensorFile {
  std::map<std::string, StoredTensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// The file's bytes as the reference implementation writes them: sorted by dtype size (large first), then name; header padded with
/// spaces to 8. @throws DataError when a tensor's bytes do not fit its shape.
std::string write_safetensors(const TensorFile& file);
/// Strict reader: refuses what the reference refuses, and duplicate names.  @throws DataError naming `file` and the fault.
TensorFile read_safetensors(std::string_view bytes, std::string_view file);

}  // namespace headtorch::store
