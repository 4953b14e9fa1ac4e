#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "src/core/head_kernel.hpp"
#include "src/probe/mixture.hpp"
#include "src/probe/recorded_input.hpp"

namespace headtorch::probe {

/// Whether rows count by their importance or all alike.
enum class RowWeights : std::size_t { kImportance, kAlike };

/// A row of weights added up over inputs; what a positional kernel is held against.
struct SummedRow {
  std::int64_t query = 0;
  std::int64_t first = 0, visible = 0;      ///< the first key it may look at, and how many there are
  double weight = 1.0;                      ///< of the row
  double inputs = 0.0;                      ///< number added up
  std::span<const double> mass;             ///< [stop], by key from 0, sum over inputs of A_ij
  std::span<const std::uint8_t> open = {};  ///< as Sight::open

  std::int64_t stop() const { return std::ssize(mass); }
  bool sees(std::int64_t key) const {
    return key >= first && key < stop() && (open.empty() || open[static_cast<std::size_t>(key)] != 0);
  }
};

/// All that is needed of one head's weights on one half of the inputs to give sum_rows w KL(A || K) for any
/// kernel of HeadKernel's families: memory does not grow with the inputs, but for one map for each set of
/// keys open to them (other lengths, hidden tokens elsewhere). Rows that see fewer than two keys are left
/// out.
class KernelStatistics {
 public:
  /// @param row_weights one a query; when empty or all zero, rows count alike.
  KernelStatistics(const LayerShape& shape, std::vector<double> row_weights);

  void add(const RecordedInput& input, std::span<const float> weights, std::span<const double> entropies);

  /// False when no row that counts has weight: every row then counts alike under both.
  bool weighted() const { return totals_[0].weight > 0.0; }
  bool empty() const { return totals_[1].weight == 0.0; }
  /// Mean over rows of sum_j A ln A, and of KL(A || U); 0 when empty.
  double mean_entropy(RowWeights weights) const;
  double kl_uniform(RowWeights weights) const;

  /// Rows of positive weight; weights sum to one over rows and inputs. Valid until the next add().
  std::vector<SummedRow> rows(RowWeights weights) const;
  /// The same for a family of tokens: one line for all rows of equal size and visible keys.
  Mixture token_mixture(KernelFamily family, RowWeights weights) const;
  bool knows_tokens() const { return knows_tokens_; }

  /// [queries, keys]: mean over inputs in which the query is a row and sees the key.
  std::vector<double> mean_weights() const;

 private:
  /// Inputs of one length with the same keys open; causal ones of any length, as a row then sees the same.
  struct Group {
    Sight sight;
    std::int64_t keys = 0;             // of a row of mass
    std::vector<double> mass;          // [rows, keys]
    std::vector<std::int64_t> inputs;  // by row

    std::span<const double> row(std::int64_t query) const;  // empty without inputs
  };
  struct TokenMass {
    std::array<double, 2> on{}, off{};  // weight on the keys named and on the others, by RowWeights
  };
  struct Totals {
    double weight = 0.0, entropy = 0.0, log_visible = 0.0;
  };

  const Totals& totals(RowWeights weights) const;
  double row_weight(std::int64_t query, RowWeights weights) const;
  Group& group_of(const Sight& sight);
  void add_tokens(const RecordedInput& input, const SeenRow& row);

  LayerShape shape_;
  std::vector<double> row_weights_;
  std::map<std::pair<std::int64_t, std::vector<std::uint8_t>>, Group> groups_;        // by (length, open)
  std::array<std::map<std::pair<std::int64_t, std::int64_t>, TokenMass>, 4> tokens_;  // by (visible, named)
  std::array<Totals, 2> totals_;
  bool knows_tokens_ = false;
};

}  // namespace headtorch::probe
