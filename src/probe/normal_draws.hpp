#pragma once

#include <span>

#include "src/core/philox.hpp"

namespace headtorch::probe {

/// Fills with independent standard normal numbers (Box and Muller 1958), two from two words; none is beyond
/// 6.7.
void fill_normal(Random& random, std::span<float> values);

}  // namespace headtorch::probe
