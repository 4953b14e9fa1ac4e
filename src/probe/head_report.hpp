#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/core/head_kernel.hpp"

// What is said of one head (docs/reading_heads.md).

namespace headtorch::probe {

/// A number about a head: mean over its eligible rows, with the 95 % interval over inputs (Student's t on the
/// inputs' own sums). All NaN when no row was eligible; the interval alone is NaN for one input.
struct Score {
  double value = std::numeric_limits<double>::quiet_NaN();
  double low = std::numeric_limits<double>::quiet_NaN(), high = std::numeric_limits<double>::quiet_NaN();
  std::int64_t rows = 0;  ///< eligible rows, over all inputs
  double chance =
      std::numeric_limits<double>::quiet_NaN();  ///< what uniform weights over the visible keys give
};

struct NamedScore {
  std::string name;  ///< key of the JSON document, column of the table: "previous_token"
  Score score;
};

/// One row's own Gaussian, exp(-(j - centre)^2 / 2 bandwidth^2), mixed with the share of uniform that all
/// rows have (NearestKernel::eps_by_row).
struct RowKernel {
  double centre = 0.0, bandwidth = 1.0;
  bool identified = true;  ///< false: the row is so flat that centre and bandwidth mean little
};

/// The best of one family, and what it explains of the inputs judged.
struct FamilyFit {
  HeadKernel kernel;
  double explained = 0.0;
};

/// The best of the families, fitted on one half of the inputs and judged on the other. KL in nats.
struct NearestKernel {
  HeadKernel kernel;
  double kl = 0.0;  ///< weighted mean row KL(A || K)
  double kl_uniform =
      0.0;  ///< the same to uniform; below kUniformKl the head is "uniform", nothing is explained
  double explained = 0.0;             ///< 1 - kl / kl_uniform; NaN for a uniform head
  double explained_unweighted = 0.0;  ///< the same with every row alike, eps fitted so
  /// Explained by the mean matrix, or by a positional family where that is more: the best that any positional
  /// kernel could do.
  double positional_share = 0.0;
  std::string nature{};   ///< "positional", "content", "mixed", "uniform"
  bool weighted = false;  ///< whether rows were weighted by their importance
  bool held_out = true;   ///< false: nothing to judge on, all figures are of the half fitted
  std::vector<FamilyFit>
      families{};                 ///< each of those tried: one key, Gaussians of slope 1, -1 and 0, tokens
  std::vector<RowKernel> rows{};  ///< one a query when asked for, with what they explain together
  std::optional<double> eps_by_row{}, explained_by_row{};
};

inline constexpr double kUniformKl = 0.02;  ///< nats: below, a head is called uniform
inline constexpr double kDoubtfulKl =
    0.05;  ///< nats: below, what is explained is little and comes with a warning

struct HeadReport {
  std::int64_t layer = 0, head = 0;  ///< from 0, the layer within its stack
  Stack stack = Stack::kSelf;
  std::int64_t queries = 0, keys = 0;
  std::vector<NamedScore> scores;         ///< in the order of docs/reading_heads.md
  std::optional<std::int64_t> sink_key;   ///< the key of score "sink"
  std::optional<std::int64_t> like_head;  ///< the head of the layer that score "similarity" compares with
  NearestKernel kernel;
  std::vector<std::string> labels;  ///< probe/labels.hpp

  HeadPlace place() const { return {layer, head, stack}; }
  /// @throws ConfigError for an unknown name.
  const Score& score(std::string_view name) const;
};

/// "L0H1", "C0H1".
std::string head_name(const HeadReport& head);
/// "L0H1 is a mirrored Gaussian, h 0.4, explains 97 %", from kIsKernel on; "L0H1 is partly ..." from
/// kIsPartly on; below "L1H0 is no kernel tried: same token explains 12 %"; "L0H0 is uniform".
std::string sentence(const HeadReport& head);
inline constexpr double kIsKernel = 0.75, kIsPartly = 0.4;  ///< explained

}  // namespace headtorch::probe
