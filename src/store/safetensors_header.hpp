#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace headtorch::store {

/// What a header says of one tensor, not yet checked against the data.
struct HeaderTensor {
  std::string dtype;
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0, end = 0;  ///< bytes, from the end of the header
};

struct SafetensorsHeader {
  std::map<std::string, HeaderTensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// Reads the JSON part. Fields that the format does not know are skipped, as the reference does; a name given
/// twice is refused at every level.  @throws DataError naming `file`, the tensor and the fault.
SafetensorsHeader parse_safetensors_header(std::string_view json, std::string_view file);

}  // namespace headtorch::store
