#pragma once

#include <string_view>

#include "src/store/array.hpp"

namespace headtorch::store {

/// A NumPy .npy file, versions 1.0 to 3.0: float16, float32 or float64, either byte order, C or Fortran
/// order. Source: numpy.lib.format (NEP 1). Nothing in the file is evaluated.
/// @throws DataError naming `file` and the fault, for anything else.
Array read_npy(std::string_view bytes, std::string_view file);

}  // namespace headtorch::store
