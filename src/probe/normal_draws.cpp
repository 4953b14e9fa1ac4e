#include "src/probe/normal_draws.hpp"

#include <cmath>
#include <cstddef>
#include <numbers>

namespace headtorch::probe {

void fill_normal(Random& random, std::span<float> values) {
  constexpr float kOfWord = 0x1p-32F, kTurn = 2.0F * std::numbers::pi_v<float>;
  for (std::size_t i = 0; i < values.size(); i += 2) {
    const float within = (static_cast<float>(random.word()) + 0.5F) * kOfWord;  // in (0, 1]
    const float radius = std::sqrt(-2.0F * std::log(within));
    const float angle = kTurn * kOfWord * static_cast<float>(random.word());
    values[i] = radius * std::cos(angle);
    if (i + 1 < values.size()) values[i + 1] = radius * std::sin(angle);
  }
}

}  // namespace headtorch::probe
