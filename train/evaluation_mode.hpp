#pragma once

#include "models/mini_transformer.hpp"

namespace headtorch::train {

/// Evaluation mode for as long as it lives; then the mode the model was in.
class EvaluationMode {
 public:
  explicit EvaluationMode(models::MiniTransformer model)
      : model_(std::move(model)), was_training_(model_->is_training()) {
    model_->eval();
  }
  ~EvaluationMode() { model_->train(was_training_); }
  EvaluationMode(const EvaluationMode&) = delete;
  EvaluationMode& operator=(const EvaluationMode&) = delete;

 private:
  models::MiniTransformer model_;
  bool was_training_;
};

}  // namespace headtorch::train
