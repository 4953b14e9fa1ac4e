#pragma once

#include "train/comparison_rows.hpp"

namespace headtorch::train {

/// What the rows of a comparison have in common.
enum class Match {
  kSteps,       ///< steps, and sizes but for heads and layers
  kParameters,  ///< steps and parameters: the feed-forward is widened up to the number of the full model
  kOperations,  ///< sizes and multiplications: a row whose step is cheaper than the full model's takes more
                ///< steps
};

/// Multiplications of matrix products for one token of a forward pass; a training step takes about three
/// times as many. A layer has (P + 1) D^2 for P = 3 projections and the one that merges heads (P = 1 without
/// queries and keys), T D for scores that compare tokens, T D for the weighted sum, 2 D F in the
/// feed-forward; D C for the labels.
double operations_a_token(const models::ModelOptions& model, const tasks::TaskShape& shape);

/// Parameters of the layers; all else is the same in every row.
std::int64_t layer_parameters(const models::ModelOptions& model);

/// Changes the candidate so that it matches `full`, the learned model with all heads and layers. Rows that
/// are already as large or as costly stay.  @throws ConfigError under kParameters when the model has no
/// feed-forward to widen.
void match_to(Candidate& candidate, const Candidate& full, Match match, const tasks::TaskShape& shape);

}  // namespace headtorch::train
