#include "train/replaced_heads.hpp"

#include "train/head_study.hpp"

namespace headtorch::train {

Evaluation evaluate_replaced(const RunConfig& config, const tasks::Task& task, std::string_view model,
                             std::int64_t step) {
  return study_heads(config, task, model, step, {.n_evaluated = task.size(tasks::Split::kTest)}).replaced;
}

}  // namespace headtorch::train
