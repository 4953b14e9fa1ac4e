#include "train/comparison_match.hpp"

#include <algorithm>
#include <cmath>

#include "src/core/error.hpp"

namespace headtorch::train {
namespace {

bool has_queries_and_keys(const models::ModelOptions& model) { return nn::is_learned(model.attention.score); }

bool compares_tokens(nn::Score score) {
  return nn::is_learned(score) || score == nn::Score::kRawDot || score == nn::Score::kUntrainedGaussian ||
         score == nn::Score::kFeatureGaussian;
}

/// Parameters that one more feature of the hidden layer adds in all layers: its weights to and from it, and
/// its bias.
std::int64_t parameters_a_feature(const models::ModelOptions& model) {
  return model.n_layers * (2 * model.d_model + 1);
}

}  // namespace

double operations_a_token(const models::ModelOptions& model, const tasks::TaskShape& shape) {
  const auto width = static_cast<double>(model.d_model), length = static_cast<double>(shape.seq_len);
  const double projections = has_queries_and_keys(model) ? 4.0 : 2.0;
  const double tables = compares_tokens(model.attention.score) ? 2.0 : 1.0;
  const double layer =
      projections * width * width + tables * length * width + 2.0 * width * static_cast<double>(model.d_ff);
  return static_cast<double>(model.n_layers) * layer + width * static_cast<double>(shape.n_classes);
}

std::int64_t layer_parameters(const models::ModelOptions& model) {
  const std::int64_t width = model.d_model;
  std::int64_t layer = (has_queries_and_keys(model) ? 4 : 2) * (width * width + width);
  if (has_queries_and_keys(model) && model.attention.scale.kind == nn::ScaleKind::kLearned)
    layer += model.n_heads;
  const std::int64_t norm = 2 * width;
  layer += norm;
  if (model.d_ff > 0) layer += width + norm;  // its output's bias, and the norm before or after it
  return model.n_layers * layer + model.d_ff * parameters_a_feature(model);
}

void match_to(Candidate& candidate, const Candidate& full, Match match, const tasks::TaskShape& shape) {
  if (match == Match::kParameters) {
    if (candidate.model.d_ff < 1) {
      throw ConfigError(
          "--match",
          "parameters are matched by the width of the feed-forward, and d_ff = 0 leaves it out, expected "
          "at least 1");
    }
    const auto missing =
        static_cast<double>(layer_parameters(full.model) - layer_parameters(candidate.model));
    const double features = std::round(missing / static_cast<double>(parameters_a_feature(candidate.model)));
    candidate.model.d_ff += std::max<std::int64_t>(0, static_cast<std::int64_t>(features));
  }
  if (match == Match::kOperations) {
    const double ratio = operations_a_token(full.model, shape) / operations_a_token(candidate.model, shape);
    candidate.row.steps = std::llround(static_cast<double>(candidate.row.steps) * std::max(1.0, ratio));
  }
}

}  // namespace headtorch::train
