#include "src/tasks/repeated_tokens.hpp"

#include <numeric>

#include "src/core/philox.hpp"

namespace headtorch::tasks {
namespace {

constexpr std::uint64_t kStream = 0x7265'7065;  // keeps these draws apart from other uses of the seed

}  // namespace

std::vector<std::vector<std::int64_t>> repeated_tokens(const TaskShape& shape, std::int64_t n,
                                                       std::uint64_t seed) {
  const std::int64_t period = shape.seq_len / 2;
  std::vector<std::vector<std::int64_t>> rows;
  if (period < 2 || shape.n_symbols < 2) return rows;
  for (std::int64_t row = 0; row < n; ++row) {
    Random random(seed, kStream, static_cast<std::uint64_t>(row));
    std::vector<std::int64_t> tokens;
    if (shape.n_symbols >= period) {
      tokens.resize(static_cast<std::size_t>(shape.n_symbols));
      std::iota(tokens.begin(), tokens.end(), std::int64_t{0});
      random.shuffle(tokens);
      tokens.resize(static_cast<std::size_t>(period));
    } else {
      for (std::int64_t i = 0; i < period; ++i) tokens.push_back(random.below(shape.n_symbols));
    }
    std::vector<std::int64_t>& twice = rows.emplace_back(tokens);
    twice.insert(twice.end(), tokens.begin(), tokens.end());
  }
  return rows;
}

}  // namespace headtorch::tasks
