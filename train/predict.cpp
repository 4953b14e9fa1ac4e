#include "train/predict.hpp"

#include <torch/torch.h>

#include "src/tasks/new_rows.hpp"
#include "train/batch.hpp"
#include "train/record.hpp"

namespace headtorch::train {

RowPredictions predict_rows(const RunConfig& config, std::string_view model, const table::Table& table,
                            table::Missing missing) {
  const torch::NoGradGuard no_grad;
  const tasks::NewRows rows =
      tasks::new_rows(config.task, static_cast<std::uint64_t>(config.train.seed), table, missing);
  models::MiniTransformer trained = load_model(config, *make_task(config), model);
  trained->eval();
  RowPredictions predictions{rows.target, rows.lines, {}};
  for (const tasks::Batch& batch : rows.batches) {
    const BatchTensors tensors = to_tensors(batch, torch::kCPU);
    const torch::Tensor scaled = trained->forward(tensors.input)
                                     .squeeze(-1)
                                     .index({tensors.labels_BT != tasks::kNotCounted})
                                     .to(torch::kDouble);
    for (std::int64_t i = 0; i < scaled.numel(); ++i)
      predictions.values.push_back(rows.scaling.original(scaled.data_ptr<double>()[i]));
  }
  return predictions;
}

}  // namespace headtorch::train
