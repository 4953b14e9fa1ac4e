#pragma once

#include "models/mini_transformer.hpp"
#include "train/engine/engine.hpp"
#include "train/replicas.hpp"
#include "train/run.hpp"

namespace headtorch::train {

/// Loss and accuracies over examples 0..n-1 of a split, each counted position once. The model is left in the
/// mode it was in.  @param engine over the same model, with as many shares as there are replicas; null: the
/// modules compute.
Evaluation evaluate(models::MiniTransformer model, const tasks::Task& task, tasks::Split split,
                    std::int64_t n, Replicas& replicas, torch::Device device,
                    engine::Engine* engine = nullptr);

/// Mean loss of each counted position over examples 0..n-1 of a split whose examples all count the same ones.
std::vector<double> losses_by_position(models::MiniTransformer model, const tasks::Task& task,
                                       tasks::Split split, std::int64_t n, torch::Device device);

/// Share of sequences the model gets right when, from the first counted position on, it reads its own
/// answers.
double free_running_accuracy(models::MiniTransformer model, const tasks::Task& task, std::int64_t n,
                             torch::Device device);

}  // namespace headtorch::train
