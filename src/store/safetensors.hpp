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

/// The file's bytes as the reference implementation (PyPI `safetensors` 0.8) writes them: by dtype in the
/// order U64, I64, F64, F32, U32, I32, BF16, F16, U16, I16, I8, U8, BOOL, then by name; header padded with
/// spaces to 8. Metadata are sorted by name, where the reference leaves their order to chance.
/// @throws DataError when a tensor's bytes do not fit its shape, or a text is not UTF-8.
std::string write_safetensors(const TensorFile& file);

/// Strict reader: refuses what the reference refuses, and more: a name given twice, and dtypes not listed
/// above (F8, F4, C64). Names are keys, never paths.  @throws DataError naming `file`, the tensor and the
/// fault.
TensorFile read_safetensors(std::string_view bytes, std::string_view file);

}  // namespace headtorch::store
