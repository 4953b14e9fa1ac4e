#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace headtorch::nn {

/// How a call of attention attends. All give the same; kExplicit is the reference.
enum class Path {
  kExplicit,  ///< weights [B, H, T, S] are written out
  kFused,     ///< LibTorch's scaled_dot_product_attention
  kLinear,    ///< ScoreFunction::attend: O(T), no weights
  kBlocked,   ///< rows a block at a time, computed again in backward: never [T, S] at once
};
/// "explicit", "fused", "linear", "blocked".
std::string_view path_name(Path path);

/// What decides it, when a call keeps no weights and edits nothing.
struct PathFacts {
  bool has_head_kernels = false;
  bool drops = false;          ///< keys or weights, in this mode
  bool is_biased = false;      ///< a position adds to scores
  bool is_scaled_dot = false;  ///< the score is one number times q.k
  bool sums_keys = false;      ///< the score can do without weights under this mask
  std::optional<std::int64_t> window = {};
  std::int64_t rows = 0;  ///< B * H * T
  std::int64_t keys = 0;  ///< S
};
Path choose_path(const PathFacts& facts);

}  // namespace headtorch::nn
