#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "src/probe/ratio.hpp"
#include "src/probe/recorded_input.hpp"

// A is one head's weights, row i a query, column j a key; sums run over the keys that row i sees, and a row
// that does not see the key in question is not eligible. Each score is a mean over eligible rows of all
// inputs (Ratio); in cross-attention those that compare positions or tokens have none.

namespace headtorch::probe {

/// local: keys at most this far away.
inline constexpr std::int64_t kLocalReach = 3;

/// In the order of the report; what is not said to have fewer takes every row that sees a key.
enum class HeadScore : std::size_t {
  kEntropy,            ///< -sum_j A_ij ln A_ij, nats (Zhai et al. 2023, arXiv:2303.06296)
  kEntropyNormalised,  ///< entropy / ln(visible keys), rows with at least two
  kMaxWeight,          ///< max_j A_ij
  kPreviousToken,      ///< A[i, i-1], i >= 1
  kDuplicateToken,     ///< sum over j < i with t_j = t_i of A_ij, rows with such a j (TransformerLens)
  /// sum over j < i with t_j = t_i of A[i, j+1], same rows: where induction heads look (Olsson et al. 2022,
  /// arXiv:2209.11895; their appendix says "preceded", j-1, which is not what such a head does).
  kInduction,
  kMeanDistance,  ///< sum_j A_ij |i - j|; Vig and Belinkov 2019 (arXiv:1906.04284) leave out key 0
  kSink,  ///< largest over keys k of mean over i >= k of A_ik, keys with at least T/2 such rows, in half of
          ///< the inputs (Gu et al. 2024, arXiv:2410.10781, where k is given)
  kConfidence,       ///< max_j A_ij without an end token's row and key (Voita et al. 2019,
                     ///< arXiv:1905.09418); where inputs do not end in one it equals max_weight
  kEffectiveDf,      ///< sum_i A_ii, mean over inputs: the smoother's degrees of freedom
  kEffectiveSample,  ///< 1 / sum_j A_ij^2
  /// sum_j |A_ij - mean A_ij| / 2 of the inputs judged, about the mean of those fitted: 0 when weights do not
  /// depend on the input (Vig and Belinkov 2019, who take both from the same inputs, first ten tokens).
  kVariability,
  kIdentity,    ///< A_ii
  kLocal,       ///< sum over |i - j| <= 3 of A_ij
  kSimilarity,  ///< smallest Jensen-Shannon divergence, nats, to another head of the layer, mean over rows
                ///< (Clark et al. 2019, arXiv:1906.04341, who sum)
  /// As TransformerLens's head_detector gives them, a mean over inputs: error_measure "mul", the share of all
  /// weights that fits the pattern, and "abs", 1 - sum |A - pattern| / T, not rounded.
  kPreviousTokenTl,
  kDuplicateTokenTl,
  kInductionTl,
  kPreviousTokenTlAbs,
  kDuplicateTokenTlAbs,
  kInductionTlAbs,
  kPreviousTokenWeighted,  ///< these four: rows weighted by importance
  kDuplicateTokenWeighted,
  kInductionWeighted,
  kIdentityWeighted,
};
inline constexpr std::size_t kHeadScores = static_cast<std::size_t>(HeadScore::kIdentityWeighted) + 1;

/// "entropy_normalised".
std::string_view score_name(HeadScore score);

/// Adds up one head's scores over inputs.
class HeadScores {
 public:
  /// @param row_weights one a query; empty: no weighted scores.
  HeadScores(const LayerShape& shape, std::vector<double> row_weights);

  /// @param entropies receives each row's entropy, -1 where it sees nothing.
  void add(const RecordedInput& input, std::span<const float> weights, std::vector<double>& entropies);
  /// Random tokens repeated, of any length: from now on `induction` and its TransformerLens forms are of
  /// these alone.
  void add_repeated(const RecordedInput& input, std::span<const float> weights, std::int64_t keys);
  /// @param mean [queries, keys], mean weights.
  void add_variability(const RecordedInput& input, std::span<const float> weights,
                       std::span<const double> mean);

  /// In order; the weighted ones when there are weights. `similarity` comes from elsewhere.
  std::vector<NamedScore> scores(const Score& similarity) const;
  /// The key that `sink` speaks of.
  std::optional<std::int64_t> sink_key() const;

 private:
  using Tallies = std::array<Tally, kHeadScores>;
  void add_row(const RecordedInput& input, const SeenRow& row, double entropy, Tallies& tallies) const;
  void add_positions(const RecordedInput& input, const SeenRow& row, Tallies& tallies) const;

  LayerShape shape_;
  std::vector<double> row_weights_;
  std::array<Ratio, kHeadScores> ratios_;
  std::array<Ratio, kHeadScores> repeated_;  // empty but for scores taken on random tokens repeated
  std::vector<Ratio> columns_;               // by key
};

}  // namespace headtorch::probe
