#pragma once

#include <limits>
#include <string>
#include <string_view>

#include "src/tasks/task.hpp"
#include "train/run.hpp"

// Signs of a model's health that a run's files do not hold, measured on a stored model.

namespace headtorch::train {

struct ModelSigns {
  /// Module whose output is the first in a forward pass (evaluation mode, validation examples) that is not
  /// finite: "encoder.layers.0.attention". Empty: all are finite. The other signs are then not measured.
  std::string non_finite_at;
  /// Pearson correlation of the logits of two training passes over one batch, each class's mean taken out:
  /// what dropout leaves of the signal. NaN: no dropout is set, or the logits are constant.
  double dropout_correlation = std::numeric_limits<double>::quiet_NaN();
  /// Largest |f(permuted x) - permuted f(x)| over the standard deviation of f(x), f the logits. NaN: a causal
  /// model, or inputs of one token.
  double permutation_difference = std::numeric_limits<double>::quiet_NaN();
  Evaluation train, held_out;  ///< on up to 512 training and 512 test examples, without dropout
};

/// @param model  a checkpoint's model.safetensors.  @throws DataError naming the tensor when it does not fit.
ModelSigns measure_signs(const RunConfig& config, const tasks::Task& task, std::string_view model);

/// What a run tells before its first step: the model and the first batch are made again from the seed.
Health initial_health(const RunConfig& config, const tasks::Task& task);

}  // namespace headtorch::train
