#include "train/row_importance.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <limits>

#include "src/core/interrupt.hpp"
#include "train/batch.hpp"
#include "train/evaluation_mode.hpp"

namespace headtorch::train {
namespace {

constexpr std::int64_t kWeightsAtOnce = 1 << 23;  // of all layers and heads
constexpr std::int64_t kMostAtOnce = 128;

/// M of the header, summed over examples: each example's weights have a gradient of their own.
torch::Tensor margin(const torch::Tensor& logits_BTC, const BatchTensors& batch) {
  if (batch.values_BT.defined()) return -summed_loss(logits_BTC, batch);
  const torch::Tensor& labels_BT = batch.labels_BT;
  const torch::Tensor counted_BT = labels_BT != tasks::kNotCounted;
  const torch::Tensor logits_NC = logits_BTC.index({counted_BT});
  const torch::Tensor label_N1 = labels_BT.index({counted_BT}).unsqueeze(-1);
  const torch::Tensor others_NC = logits_NC.scatter(-1, label_N1, -std::numeric_limits<double>::infinity());
  return logits_NC.gather(-1, label_N1).sum() - others_NC.logsumexp(-1).sum();
}

/// Uniform weights over what each query may look at.
torch::Tensor uniform_rows(const torch::Tensor& visible, const torch::TensorOptions& kind) {
  const torch::Tensor rows = visible.to(kind);
  return rows / rows.sum(-1, /*keepdim=*/true).clamp_min(1.0);
}

}  // namespace

std::vector<std::vector<double>> row_importance(models::MiniTransformer model, const tasks::Task& task,
                                                tasks::Split split, std::int64_t first, std::int64_t n) {
  const models::ModelOptions& options = model->options();
  const tasks::TaskShape& shape = task.shape();
  const std::int64_t places = models::n_attention_places(options);
  std::vector<std::vector<double>> importance;
  std::int64_t weights = 0;  // of one example
  for (std::int64_t place = 0; place < places; ++place) {
    const Stack stack = models::attention_place(options, place).stack;
    const std::int64_t queries = queries_are_source(stack) ? shape.source.seq_len : shape.seq_len;
    const std::int64_t keys = keys_are_source(stack) ? shape.source.seq_len : shape.seq_len;
    importance.emplace_back(static_cast<std::size_t>(options.n_heads * queries), 0.0);
    weights += options.n_heads * queries * keys;
  }
  if ((shape.n_classes < 2 && shape.measure == tasks::Measure::kClasses) || n < 1) return importance;

  const EvaluationMode mode(model);
  const torch::AutoGradMode with_gradient(true);
  const torch::Tensor any = model->parameters().front();
  const std::int64_t at_once = std::clamp<std::int64_t>(kWeightsAtOnce / weights, 1, kMostAtOnce);

  std::vector<torch::Tensor> patterns_BHTS(static_cast<std::size_t>(places));
  nn::HeadProbe probe;
  probe.keep = nn::Keep::kOutput;
  probe.edit_pattern = [&](std::int64_t place, const torch::Tensor& pattern_BHTS) {
    // Weights of a fixed kernel depend on no parameter; they get a gradient all the same.
    torch::Tensor& kept = patterns_BHTS[static_cast<std::size_t>(place)];
    kept = pattern_BHTS.requires_grad() ? pattern_BHTS : pattern_BHTS.clone().requires_grad_();
    return kept;
  };
  nn::Context context;
  context.probe = &probe;

  std::vector<torch::Tensor> sums_HT(static_cast<std::size_t>(places));
  std::int64_t done = 0;
  while (done < n && interrupt_signal() == 0) {
    const std::int64_t count = std::min(at_once, n - done);
    const BatchTensors batch = to_tensors(task.batch(split, first + done, count), any.device());
    done += count;
    const torch::Tensor logits_BTC = model->forward(batch.input, context);
    const auto gradients_BHTS =
        torch::autograd::grad({margin(logits_BTC, batch)}, patterns_BHTS, /*grad_outputs=*/{},
                              /*retain_graph=*/false, /*create_graph=*/false, /*allow_unused=*/true);
    for (std::size_t layer = 0; layer < sums_HT.size(); ++layer) {
      if (!gradients_BHTS[layer].defined()) continue;
      const torch::Tensor uniform = uniform_rows(
          model->visible(batch.input, static_cast<std::int64_t>(layer)), any.options().requires_grad(false));
      const torch::Tensor part_HT = (gradients_BHTS[layer] * (patterns_BHTS[layer].detach() - uniform))
                                        .sum(-1)
                                        .abs()
                                        .to(torch::kDouble)
                                        .sum(0);
      sums_HT[layer] = sums_HT[layer].defined() ? sums_HT[layer] + part_HT : part_HT;
    }
  }
  for (std::size_t layer = 0; layer < sums_HT.size(); ++layer) {
    if (!sums_HT[layer].defined()) continue;
    const torch::Tensor mean_HT = (sums_HT[layer] / static_cast<double>(done)).cpu().contiguous();
    importance[layer].assign(mean_HT.data_ptr<double>(), mean_HT.data_ptr<double>() + mean_HT.numel());
  }
  return importance;
}

}  // namespace headtorch::train
