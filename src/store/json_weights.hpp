#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/store/array.hpp"
#include "src/store/token_list.hpp"

namespace headtorch::store {

struct JsonWeights {
  Array array;
  TokenList tokens;  ///< of one sample, or none
};

/// A nested list of numbers, or one of the objects that `read_foreign_weights` names; null is NaN.
/// @throws DataError naming `file` and the fault.
JsonWeights read_json_weights(std::string_view text, std::string_view file);

}  // namespace headtorch::store
