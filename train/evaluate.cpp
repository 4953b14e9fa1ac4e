#include "train/evaluate.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "src/core/error.hpp"
#include "src/core/interrupt.hpp"
#include "train/batch.hpp"
#include "train/evaluation_mode.hpp"

namespace headtorch::train {
namespace {

constexpr std::int64_t kTokensAtOnce = 8192;

struct Counts {
  double loss = 0.0;
  std::int64_t positions = 0, right = 0, sequences_right = 0;
  double values = 0.0, squares = 0.0;  // of what is to be predicted, Measure::kReal
  std::vector<double> errors = {};     // a counted position, in order
  double best = 0.0;
  bool knows_best = false;
};

Counts by_modules(models::MiniTransformer& model, const tasks::Batch& batch, torch::Device device) {
  const torch::NoGradGuard no_grad;
  const BatchTensors tensors = to_tensors(batch, device);
  const torch::Tensor logits_BTC = model->forward(tensors.input);
  const torch::Tensor counted_BT = tensors.labels_BT != tasks::kNotCounted;
  const torch::Tensor right_BT = (logits_BTC.argmax(-1) == tensors.labels_BT) & counted_BT;
  Counts counts;
  counts.loss = position_losses(logits_BTC, tensors).to(torch::kDouble).sum().item<double>();
  counts.positions = counted_BT.sum().item<std::int64_t>();
  counts.right = right_BT.sum().item<std::int64_t>();
  counts.sequences_right = (right_BT == counted_BT).all(1).sum().item<std::int64_t>();
  if (tensors.values_BT.defined()) {
    const torch::Tensor errors_BT = logits_BTC.squeeze(-1).to(torch::kDouble) - tensors.values_BT;
    const torch::Tensor errors = errors_BT.index({counted_BT}).to(torch::kCPU).contiguous();
    counts.errors.assign(errors.data_ptr<double>(), errors.data_ptr<double>() + errors.numel());
  }
  return counts;
}

Counts by_engine(engine::Engine& engine, std::int64_t share, const tasks::Batch& batch) {
  const engine::Measured measured = engine.measure(share, engine::sequences_of(batch));
  return {.loss = measured.counted.loss,
          .positions = measured.counted.positions,
          .right = measured.right,
          .sequences_right = measured.sequences_right};
}

void add_values(const tasks::Batch& batch, Counts& counts) {
  for (std::size_t i = 0; i < batch.values.size(); ++i) {
    if (batch.labels[i] == tasks::kNotCounted) continue;
    const double value = batch.values[i];
    counts.values += value;
    counts.squares += value * value;
  }
}

}  // namespace

Evaluation evaluate(models::MiniTransformer model, const tasks::Task& task, tasks::Split split,
                    std::int64_t n, Replicas& replicas, torch::Device device, engine::Engine* engine) {
  const EvaluationMode mode(model);
  const std::int64_t examples_at_once = std::max<std::int64_t>(kTokensAtOnce / task.shape().seq_len, 1);
  const std::int64_t chunks = (n + examples_at_once - 1) / examples_at_once;
  // An interval is of single errors, and the engine tells sums.
  const bool has_interval = split == tasks::Split::kTest && task.shape().error_block > 0;
  if (has_interval) engine = nullptr;
  if (engine != nullptr) engine->refresh();
  // Chunks are cut and summed the same way whatever the number of threads.
  std::vector<Counts> counts(static_cast<std::size_t>(chunks));
  replicas.run([&](std::int64_t share) {
    for (std::int64_t chunk = share; chunk < chunks && interrupt_signal() == 0; chunk += replicas.size()) {
      const std::int64_t first = chunk * examples_at_once;
      const tasks::Batch batch = task.batch(split, first, std::min(examples_at_once, n - first));
      Counts own = engine == nullptr ? by_modules(model, batch, device) : by_engine(*engine, share, batch);
      add_values(batch, own);
      const std::vector<double> best = task.best_losses(batch);
      own.knows_best = !best.empty();
      own.best = std::accumulate(best.begin(), best.end(), 0.0);
      counts[static_cast<std::size_t>(chunk)] = std::move(own);
    }
  });
  Counts total;
  for (const Counts& part : counts) {
    total.loss += part.loss;
    total.positions += part.positions;
    total.right += part.right;
    total.sequences_right += part.sequences_right;
    total.values += part.values;
    total.squares += part.squares;
    total.errors.insert(total.errors.end(), part.errors.begin(), part.errors.end());
    total.best += part.best;
    total.knows_best = total.knows_best || part.knows_best;
  }
  const auto share = [](std::int64_t part, std::int64_t of) {
    return of == 0 ? std::numeric_limits<double>::quiet_NaN()
                   : static_cast<double>(part) / static_cast<double>(of);
  };
  Evaluation evaluation;
  evaluation.n = n;
  evaluation.counted = total.positions;
  evaluation.loss = total.positions == 0 ? std::numeric_limits<double>::quiet_NaN()
                                         : total.loss / static_cast<double>(total.positions);
  if (total.knows_best && total.positions > 0)
    evaluation.best_loss = total.best / static_cast<double>(total.positions);
  if (task.shape().measure == tasks::Measure::kReal) {
    const auto positions = static_cast<double>(total.positions);
    const double spread = total.squares - total.values * total.values / positions;
    for (double& error : total.errors) error *= task.shape().value_unit;
    const auto absolute = [](double sum, double error) { return sum + std::abs(error); };
    evaluation.rmse = std::sqrt(evaluation.loss) * task.shape().value_unit;
    if (!total.errors.empty())
      evaluation.mae = std::accumulate(total.errors.begin(), total.errors.end(), 0.0, absolute) / positions;
    if (has_interval && !total.errors.empty())
      evaluation.interval = error_interval(total.errors, task.shape().error_block);
    evaluation.r2 = spread > 0.0 ? 1.0 - total.loss / spread : std::numeric_limits<double>::quiet_NaN();
    return evaluation;
  }
  evaluation.token_accuracy = share(total.right, total.positions);
  evaluation.sequence_accuracy = share(total.sequences_right, n);
  return evaluation;
}

std::vector<double> losses_by_position(models::MiniTransformer model, const tasks::Task& task,
                                       tasks::Split split, std::int64_t n, torch::Device device) {
  const EvaluationMode mode(model);
  const torch::NoGradGuard no_grad;
  const std::int64_t at_once = std::max<std::int64_t>(kTokensAtOnce / task.shape().seq_len, 1);
  torch::Tensor sums_T;
  std::vector<std::int64_t> labels;
  for (std::int64_t first = 0; first < n && interrupt_signal() == 0; first += at_once) {
    const tasks::Batch batch = task.batch(split, first, std::min(at_once, n - first));
    const BatchTensors tensors = to_tensors(batch, device);
    const torch::Tensor own_T =
        position_losses(model->forward(tensors.input), tensors).to(torch::kDouble).sum(0).cpu();
    sums_T = sums_T.defined() ? sums_T + own_T : own_T;
    labels.assign(batch.labels.begin(), batch.labels.begin() + batch.length);
  }
  std::vector<double> means;
  for (std::size_t t = 0; t < labels.size(); ++t) {
    if (labels[t] != tasks::kNotCounted)
      means.push_back(sums_T[static_cast<std::int64_t>(t)].item<double>() / static_cast<double>(n));
  }
  return means;
}

double free_running_accuracy(models::MiniTransformer model, const tasks::Task& task, std::int64_t n,
                             torch::Device device) {
  const EvaluationMode mode(model);
  const torch::NoGradGuard no_grad;
  const std::int64_t at_once = std::max<std::int64_t>(kTokensAtOnce / task.shape().seq_len, 1);
  double right = 0.0;
  for (std::int64_t first = 0; first < n && interrupt_signal() == 0; first += at_once) {
    const BatchTensors tensors =
        to_tensors(task.batch(tasks::Split::kTest, first, std::min(at_once, n - first)), device);
    const torch::Tensor counted_BT = tensors.labels_BT != tasks::kNotCounted;
    const std::int64_t length = tensors.labels_BT.size(1);
    torch::Tensor read_BT = tensors.input.target.tokens.clone();
    torch::Tensor all_right_B = torch::ones({read_BT.size(0)}, counted_BT.options());
    models::DecodingCache cache;
    for (std::int64_t t = 0; t < length; ++t) {
      const torch::Tensor answer_B =
          model->decode(read_BT.narrow(1, t, 1), cache, tensors.input.source).select(1, 0).argmax(-1);
      const torch::Tensor counted_B = counted_BT.select(1, t);
      all_right_B &= (answer_B == tensors.labels_BT.select(1, t)) | ~counted_B;
      if (t + 1 < length) {
        torch::Tensor next_B = read_BT.select(1, t + 1);
        next_B.copy_(torch::where(counted_B, answer_B, next_B));
      }
    }
    right += all_right_B.to(torch::kDouble).sum().item<double>();
  }
  return right / static_cast<double>(n);
}

}  // namespace headtorch::train
