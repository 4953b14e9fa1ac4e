#include "train/row_importance.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <limits>

#include "src/attention/masks.hpp"
#include "src/core/interrupt.hpp"
#include "train/batch.hpp"
#include "train/evaluation_mode.hpp"

namespace headtorch::train {
namespace {

constexpr std::int64_t kWeightsAtOnce = 1 << 23;  // of all layers and heads
constexpr std::int64_t kMostAtOnce = 128;

/// M of the header, summed over examples: each example's weights have a gradient of their own.
torch::Tensor margin(const torch::Tensor& logits_BTC, const torch::Tensor& labels_BT) {
  const torch::Tensor counted_BT = labels_BT != tasks::kNotCounted;
  const torch::Tensor logits_NC = logits_BTC.index({counted_BT});
  const torch::Tensor label_N1 = labels_BT.index({counted_BT}).unsqueeze(-1);
  const torch::Tensor others_NC = logits_NC.scatter(-1, label_N1, -std::numeric_limits<double>::infinity());
  return logits_NC.gather(-1, label_N1).sum() - others_NC.logsumexp(-1).sum();
}

/// Uniform weights over what each query may look at, [T, T].
torch::Tensor uniform_rows(const models::ModelOptions& options, std::int64_t length,
                           const torch::TensorOptions& kind) {
  if (options.family == models::Family::kEncoder)
    return torch::full({length, length}, 1.0 / static_cast<double>(length), kind);
  const torch::Tensor visible_TT = attention::causal_mask(length, length, kind.device()).to(kind);
  return visible_TT / visible_TT.sum(-1, /*keepdim=*/true);
}

}  // namespace

std::vector<std::vector<double>> row_importance(models::MiniTransformer model, const tasks::Task& task,
                                                tasks::Split split, std::int64_t first, std::int64_t n) {
  const models::ModelOptions& options = model->options();
  const std::int64_t length = task.shape().seq_len, rows = options.n_heads * length;
  std::vector<std::vector<double>> importance(static_cast<std::size_t>(options.n_layers),
                                              std::vector<double>(static_cast<std::size_t>(rows), 0.0));
  if (task.shape().n_classes < 2 || n < 1) return importance;

  const EvaluationMode mode(model);
  const torch::AutoGradMode with_gradient(true);
  const torch::Tensor any = model->parameters().front();
  const torch::Tensor uniform_TT = uniform_rows(options, length, any.options().requires_grad(false));
  const std::int64_t at_once =
      std::clamp<std::int64_t>(kWeightsAtOnce / (options.n_layers * rows * length), 1, kMostAtOnce);

  std::vector<torch::Tensor> patterns_BHTT;
  nn::HeadProbe probe;
  probe.keep = nn::Keep::kOutput;
  probe.edit_pattern = [&](std::int64_t, const torch::Tensor& pattern_BHTT) {
    // Weights of a fixed kernel depend on no parameter; they get a gradient all the same.
    patterns_BHTT.push_back(pattern_BHTT.requires_grad() ? pattern_BHTT
                                                         : pattern_BHTT.clone().requires_grad_());
    return patterns_BHTT.back();
  };
  nn::Context context;
  context.probe = &probe;

  std::vector<torch::Tensor> sums_HT(static_cast<std::size_t>(options.n_layers));
  std::int64_t done = 0;
  while (done < n && interrupt_signal() == 0) {
    const std::int64_t count = std::min(at_once, n - done);
    const BatchTensors batch = to_tensors(task.batch(split, first + done, count), any.device());
    done += count;
    patterns_BHTT.clear();
    const torch::Tensor logits_BTC = model->forward(batch.tokens_BT, context);
    const auto gradients_BHTT =
        torch::autograd::grad({margin(logits_BTC, batch.labels_BT)}, patterns_BHTT, /*grad_outputs=*/{},
                              /*retain_graph=*/false, /*create_graph=*/false, /*allow_unused=*/true);
    for (std::size_t layer = 0; layer < sums_HT.size(); ++layer) {
      if (!gradients_BHTT[layer].defined()) continue;
      const torch::Tensor part_HT = (gradients_BHTT[layer] * (patterns_BHTT[layer].detach() - uniform_TT))
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
    importance[layer].assign(mean_HT.data_ptr<double>(), mean_HT.data_ptr<double>() + rows);
  }
  return importance;
}

}  // namespace headtorch::train
