#pragma once

#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

namespace headtorch::store {

/// Numbers of a file from elsewhere as float32, row-major.
struct Array {
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};

/// IEEE 754 binary16, bfloat16, binary32, binary64.
enum class FloatType { kHalf, kBrain, kSingle, kDouble };
std::int64_t bytes_of(FloatType type);

/// As many numbers as `bytes` holds whole ones. Doubles are rounded to the nearest float; beyond its range
/// they become infinite.
std::vector<float> read_floats(std::string_view bytes, FloatType type,
                               std::endian order = std::endian::little);

/// An array stored with its first dimension fastest, put row-major.  @throws ShapeError unless the shape
/// holds as many values as there are.
std::vector<float> from_column_major(const std::vector<float>& values,
                                     const std::vector<std::int64_t>& shape);

}  // namespace headtorch::store
