#pragma once

#include <cstdint>
#include <vector>

#include "models/mini_transformer.hpp"
#include "src/tasks/task.hpp"

namespace headtorch::train {

/// How much each row of weights matters to the answers: w_i = mean over examples of
/// |sum_j dM/dA_ij (A_ij - U_ij)|, U uniform over the keys that row i may look at, M the sum over labelled
/// positions of (logit of the label - logsumexp of the other logits). To first order it is what M loses when
/// the row becomes uniform; A is the weights before dropout, and what it does to later layers' weights
/// counts.
/// @param first, n  examples of the split.  @returns [layers][heads * queries], head by head; all 0 with one
/// class, where no answer can be wrong. The model, its mode and its gradients stay as they were.
std::vector<std::vector<double>> row_importance(models::MiniTransformer model, const tasks::Task& task,
                                                tasks::Split split, std::int64_t first, std::int64_t n);

}  // namespace headtorch::train
