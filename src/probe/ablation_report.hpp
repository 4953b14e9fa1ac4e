#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "src/core/head_place.hpp"
#include "src/probe/head_report.hpp"

// What is lost when heads are removed or replaced (Michel et al. 2019, arXiv:1905.10650, 3; behaviour share
// and controls: ours).

namespace headtorch::probe {

/// What each example gave, summed over its counted positions.
struct ExampleResults {
  std::vector<double> loss;                  ///< nats
  std::vector<std::int64_t> counted, right;  ///< positions

  /// Means over positions, NaN without any; a sequence is right when all its counted positions are.
  double mean_loss() const;
  double token_accuracy() const;
  double sequence_accuracy() const;
};

/// After minus before, a mean over counted positions with its 95 % interval over examples, which are paired.
struct Change {
  Score loss, accuracy;  ///< nats; share of positions
};
/// @throws ShapeError unless both hold the same examples.
Change change(const ExampleResults& before, const ExampleResults& after);

/// What some heads are replaced by. Their outputs and weights are changed inside the model; the other heads
/// go on as they are, with what then reaches them.
struct Replaced {
  Change removed;        ///< outputs 0
  Change mean_replaced;  ///< outputs their mean over the examples, one for each position
  Change uniform;        ///< weights uniform over visible keys
  std::optional<Change> kernel_replaced = {};  ///< weights their nearest fixed kernels
  /// 1 - (loss under kernels / loss under uniform weights): how much of what the weights do the kernels do.
  /// Absent when uniform weights cost less than kLeastUniformLoss.
  std::optional<double> behaviour_share() const;
};
inline constexpr double kLeastUniformLoss = 0.05;  ///< nats

struct HeadAblation {
  HeadPlace place = {};
  Replaced replaced = {};
  double importance = 0.0;          ///< Michel's, l2-normalised within the layer
  double entropy_normalised = 0.0;  ///< of its weights
  // Controls: what removing other heads costs, in nats.
  double random_head =
      std::numeric_limits<double>::quiet_NaN();  ///< expected for one of the others at random
  std::optional<HeadPlace> like_entropy = {};    ///< of the others, the one of nearest entropy
  double like_entropy_loss = std::numeric_limits<double>::quiet_NaN();

  /// Removal costs less than its interval: 0 lies within.
  bool dispensable() const { return replaced.removed.loss.low <= 0.0 && !removal_helps(); }
  /// The loss is lower without it, by more than its interval.
  bool removal_helps() const { return replaced.removed.loss.high < 0.0; }
};

struct LayerAblation {
  std::int64_t layer = 0;  ///< within its stack
  Replaced replaced = {};
  Stack stack = Stack::kSelf;
};

/// The model after so many heads were removed, those that cost least first.
struct GreedyStep {
  HeadPlace removed = {};
  std::int64_t heads_left = 0;
  double loss = 0.0, token_accuracy = 0.0;
  double random_loss = 0.0;  ///< mean over AblationReport::random_orders orders drawn at random
};

struct AblationReport {
  ExampleResults base;
  std::vector<HeadAblation> heads;    ///< by layer and head
  std::vector<LayerAblation> layers;  ///< a whole layer's heads at once
  Replaced all;                       ///< every head at once
  std::vector<GreedyStep> greedy;     ///< empty for more than kMostGreedyHeads heads
  std::int64_t greedy_examples = 0;   ///< on which the order was chosen; its curve is over all examples
  std::int64_t random_orders = 0;
  double importance_correlation = std::numeric_limits<double>::quiet_NaN();  ///< importance and removal loss
};
inline constexpr std::int64_t kMostGreedyHeads = 256;

/// Fills in the controls and the correlation from the heads' measured removal.
void compare_heads(AblationReport& report);

/// Spearman's rank correlation, equal values sharing their mean rank; NaN for fewer than 3 pairs or where all
/// values of a side are equal.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

/// The order in which heads go when each time the one goes whose loss is least beside those gone before.
/// @param loss of a model without the heads given.
std::vector<HeadPlace> greedy_order(std::vector<HeadPlace> heads,
                                    const std::function<double(const std::vector<HeadPlace>& removed)>& loss);

}  // namespace headtorch::probe
