#pragma once

#include "models/mini_transformer.hpp"
#include "train/run.hpp"

namespace headtorch::train {

/// What a model of a task is sized by.
models::ModelSizes sizes_for(const tasks::TaskShape& shape);
/// The same with the tokens that the configuration hides.
models::ModelSizes sizes_for(const RunConfig& config, const tasks::Task& task);

/// A stored model.  @param bytes a checkpoint's model.safetensors.  @throws DataError naming the tensor when
/// it does not fit the config.
models::MiniTransformer load_model(const RunConfig& config, const tasks::Task& task, std::string_view bytes);

/// The weights of every head of a model in memory, computed in evaluation mode.
AttentionMaps record(models::MiniTransformer model, const tasks::Task& task, const tasks::Batch& inputs,
                     std::int64_t step, torch::Device device);

/// How sharp the heads are. The scores' spread is read off the weights: within a row, ln A and the scores
/// differ by a constant.
struct Sharpness {
  double score_sd = 0.0;            ///< of a row's scores over visible keys; mean over rows with at least 2
  double entropy_normalised = 0.0;  ///< H / ln(visible keys); mean over the same rows
};
Sharpness sharpness(const AttentionMaps& maps);

}  // namespace headtorch::train
