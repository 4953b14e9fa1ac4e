#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/core/head_place.hpp"

// Kernels that a head can be held against, or be replaced by: they depend on positions or on token ids only.

namespace headtorch {

/// K0 of a row, spread evenly over the keys named (kGaussian: by its formula).
enum class KernelFamily {
  kUniform,         ///< every visible key
  kKey,             ///< one key, the same for all rows
  kGaussian,        ///< exp(-(j - (slope i + offset))^2 / 2 bandwidth^2)
  kSameToken,       ///< keys that hold the query's token, its own position among them
  kFirstSameToken,  ///< the first of them
  kLastSameToken,   ///< the last one before the query
  kInduction,       ///< keys right after an earlier occurrence of the query's token
};

/// K = (1 - eps) K0 + eps U over a row's visible keys, U uniform; where K0 names no visible key, K = U.
struct HeadKernel {
  KernelFamily family = KernelFamily::kUniform;
  std::int64_t key = 0;    ///< kKey
  double slope = 1.0;      ///< kGaussian: 1 relative, -1 mirrored, 0 absolute
  double offset = 0.0;     ///< kGaussian, in positions
  double bandwidth = 1.0;  ///< kGaussian, in positions, > 0
  double eps = 0.0;        ///< share of U, 0 to 1

  bool operator==(const HeadKernel&) const = default;
};

/// Which keys a query may look at: open ones from first(query) up to, not with, stop(query). In
/// cross-attention queries are positions of another sequence, and neither causal nor window applies.
struct Sight {
  bool causal = false;                  ///< none after the query
  std::int64_t length = 0;              ///< keys before the padding
  std::int64_t window = -1;             ///< none further from the query than this; -1: no window
  std::vector<std::uint8_t> open = {};  ///< by key, 0 where no query may look; empty: all are open

  std::int64_t first(std::int64_t query) const;
  std::int64_t stop(std::int64_t query) const;
  bool is_open(std::int64_t key) const { return open.empty() || open[static_cast<std::size_t>(key)] != 0; }
  bool sees(std::int64_t query, std::int64_t key) const {
    return key >= first(query) && key < stop(query) && is_open(key);
  }
  /// Number of keys it may look at.
  std::int64_t visible(std::int64_t query) const;
};

/// One row of K over all keys; zero where a key is not visible.  @param ids token of each position, at least
/// `sight.length` of them; empty is enough for families without tokens, as in cross-attention.
/// @throws ConfigError for a bandwidth that is not > 0 or an eps outside 0..1.
std::vector<double> kernel_row(const HeadKernel& kernel, std::int64_t query, std::int64_t keys,
                               const Sight& sight, std::span<const std::int64_t> ids);

/// "uniform", "one-key", "gaussian", "same-token", "first-same-token", "last-same-token", "induction".
std::string_view family_name(KernelFamily family);

/// "gaussian slope -1 offset 15 bandwidth 0.4 eps 0.02": only what the family has; numbers read back the
/// same.
std::string kernel_text(const HeadKernel& kernel);
/// @throws ConfigError saying what cannot be read and what is allowed.
HeadKernel parse_kernel(std::string_view text);

/// For a sentence: "a mirrored Gaussian, h 0.4". A bandwidth below 0.35 is a point mass: "h <= 0.35".
/// @param keys positions of the head: a mirrored kernel whose offset is not the last one then says so; 0: not
/// known.  @param stack in cross-attention a query has no own position among the keys, but the same one.
std::string describe(const HeadKernel& kernel, std::int64_t keys = 0, Stack stack = Stack::kSelf);

}  // namespace headtorch
