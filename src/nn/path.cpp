#include "src/nn/path.hpp"

#include <array>

namespace headtorch::nn {
namespace {

constexpr std::int64_t kMostWritten = std::int64_t{1} << 24;  // weights of a call: 64 MiB, twice with dropout
constexpr std::int64_t kFewestWindowed = 512;  // keys from which skipping those outside a window pays

}  // namespace

std::string_view path_name(Path path) {
  constexpr std::array<std::string_view, 4> kNames{"explicit", "fused", "linear", "blocked"};
  return kNames[static_cast<std::size_t>(path)];
}

Path choose_path(const PathFacts& facts) {
  if (facts.has_head_kernels) return Path::kExplicit;
  const bool windowed =
      facts.window && facts.keys >= kFewestWindowed && facts.keys >= 4 * (2 * *facts.window + 1);
  if (!facts.drops && !facts.is_biased) {
    if (facts.is_scaled_dot && !windowed) return Path::kFused;
    if (facts.sums_keys) return Path::kLinear;
  }
  return windowed || facts.rows * facts.keys > kMostWritten ? Path::kBlocked : Path::kExplicit;
}

}  // namespace headtorch::nn
