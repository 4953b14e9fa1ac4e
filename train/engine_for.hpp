#pragma once

#include <memory>
#include <string>

#include "models/mini_transformer.hpp"
#include "src/tasks/task.hpp"
#include "train/adamw.hpp"
#include "train/engine/engine.hpp"
#include "train/settings/config.hpp"

namespace headtorch::train {

/// Why a run trains through the torch::nn modules and not through the engine; empty: it does not.
std::string why_modules(const RunConfig& config, const tasks::TaskShape& shape, torch::Device device);

/// A model as the engine reads it, whose parameters `optimizer` made views of its buffer; both must outlive
/// it. For runs in which why_modules is empty.
engine::Model engine_model(const models::MiniTransformer& model, const AdamW& optimizer,
                           const RunConfig& config);

/// The engine over that model, with the best kernels of this processor.
std::unique_ptr<engine::Engine> make_engine(const models::MiniTransformer& model, const AdamW& optimizer,
                                            const RunConfig& config, std::int64_t shares);

}  // namespace headtorch::train
