#include "src/store/array.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>

#include "src/core/error.hpp"

namespace headtorch::store {
namespace {

static_assert(std::numeric_limits<float>::is_iec559 && std::numeric_limits<double>::is_iec559);

float half_to_float(std::uint16_t half) {
  const float sign = (half & 0x8000) != 0 ? -1.0F : 1.0F;
  const int exponent = half >> 10 & 0x1f;
  const int fraction = half & 0x3ff;
  if (exponent == 0x1f) {
    return fraction != 0 ? std::numeric_limits<float>::quiet_NaN()
                         : sign * std::numeric_limits<float>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  return sign * std::ldexp(static_cast<float>(fraction + 0x400), exponent - 25);
}

float to_float(std::uint64_t bits, FloatType type) {
  switch (type) {
    case FloatType::kHalf:
      return half_to_float(static_cast<std::uint16_t>(bits));
    case FloatType::kBrain:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
    case FloatType::kSingle:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case FloatType::kDouble:
      return static_cast<float>(std::bit_cast<double>(bits));
  }
  return std::numeric_limits<float>::quiet_NaN();
}

}  // namespace

std::int64_t bytes_of(FloatType type) {
  switch (type) {
    case FloatType::kHalf:
    case FloatType::kBrain:
      return 2;
    case FloatType::kSingle:
      return 4;
    case FloatType::kDouble:
      return 8;
  }
  return 0;
}

std::vector<float> read_floats(std::string_view bytes, FloatType type, std::endian order) {
  const auto size = static_cast<std::size_t>(bytes_of(type));
  std::vector<float> values(bytes.size() / size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint64_t bits = 0;
    for (std::size_t b = 0; b < size; ++b) {
      const std::size_t place = order == std::endian::little ? b : size - 1 - b;
      bits |= std::uint64_t{static_cast<unsigned char>(bytes[i * size + b])} << 8 * place;
    }
    values[i] = to_float(bits, type);
  }
  return values;
}

std::vector<float> from_column_major(const std::vector<float>& values,
                                     const std::vector<std::int64_t>& shape) {
  const auto count =
      std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<std::int64_t>());
  if (count != static_cast<std::int64_t>(values.size())) {
    throw ShapeError("array", fmt::format("{} values do not fill a shape of {}", values.size(), count));
  }
  std::vector<float> row_major(values.size());
  std::vector<std::int64_t> index(shape.size(), 0);
  for (float& value : row_major) {
    std::int64_t at = 0;
    for (std::size_t d = shape.size(); d-- > 0;) at = at * shape[d] + index[d];
    value = values[static_cast<std::size_t>(at)];
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
  return row_major;
}

}  // namespace headtorch::store
