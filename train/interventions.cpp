#include "train/interventions.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "src/attention/fixed_kernels.hpp"
#include "src/attention/masks.hpp"
#include "src/core/error.hpp"
#include "src/core/interrupt.hpp"
#include "train/batch.hpp"
#include "train/checkpoint.hpp"
#include "train/record.hpp"
#include "train/replicas.hpp"

namespace headtorch::train {
namespace {

using probe::ExampleResults;

constexpr std::int64_t kTokensAtOnce = 8192, kWeightsAtOnce = 1 << 22;  // the latter of one layer

void stop_at_signal() {
  const int signal = interrupt_signal();
  if (signal == 0) return;
  throw Error(exit_code_of(signal), "ablate",
              "stopped by a signal before the end, expected to be left to finish");
}

ExampleResults empty_results(std::int64_t n) {
  const auto size = static_cast<std::size_t>(n);
  return {std::vector<double>(size), std::vector<std::int64_t>(size), std::vector<std::int64_t>(size)};
}

template <typename T>
void copy_to(std::vector<T>& values, std::int64_t first, const torch::Tensor& part) {
  const torch::Tensor flat = part.to(c10::CppTypeToScalarType<T>::value).contiguous();
  std::copy_n(flat.data_ptr<T>(), flat.numel(), values.begin() + first);
}

/// Sum over examples and rows of H / ln(visible keys), a value a head.
torch::Tensor entropy_sums(const torch::Tensor& pattern_BHTT, const torch::Tensor& visible_T) {
  const torch::Tensor a = pattern_BHTT.to(torch::kDouble);
  const torch::Tensor entropy_BHT = -torch::xlogy(a, a).sum(-1);
  return (entropy_BHT / visible_T.log()).masked_fill(visible_T < 2.0, 0.0).sum(torch::IntArrayRef({0, 2}));
}

}  // namespace

struct Interventions::State {
  State(const RunConfig& config, const tasks::Task& of, std::string_view bytes, std::int64_t examples)
      : task(of),
        n(std::min(examples, of.size(tasks::Split::kTest))),
        model(config.model, sizes_for(of.shape())),
        replicas(std::min<std::int64_t>(usable_cores(), 8)) {
    from_safetensors(bytes, "model.safetensors", *model);
    check_finite(*model, "model.safetensors");
    model->eval();
    for (const torch::Tensor& parameter : model->parameters()) parameter.set_requires_grad(false);
    const std::int64_t length = of.shape().seq_len;
    if (config.model.family == models::Family::kCausal) visible_TT = attention::causal_mask(length, length);
    look();
  }

  std::int64_t n_layers() const { return model->options().n_layers; }
  std::int64_t n_heads() const { return model->options().n_heads; }

  void check(const HeadPlace& place) const {
    if (place.layer >= 0 && place.layer < n_layers() && place.head >= 0 && place.head < n_heads()) return;
    throw ConfigError("ablate", fmt::format("{} is not in the model, expected L0H0 to {}", head_name(place),
                                            head_name(HeadPlace{n_layers() - 1, n_heads() - 1})));
  }

  /// Calls work(share, first, count) for chunks of the first `examples`; a share's chunks come in order.
  template <typename Work>
  void in_chunks(std::int64_t examples, const Work& work) const {
    const std::int64_t length = task.shape().seq_len;
    const std::int64_t at_once = std::max<std::int64_t>(
        std::min(kTokensAtOnce / length, kWeightsAtOnce / (n_heads() * length * length)), 1);
    const std::int64_t chunks = (examples + at_once - 1) / at_once;
    replicas.run([&](std::int64_t share) {
      for (std::int64_t chunk = share; chunk < chunks; chunk += replicas.size()) {
        stop_at_signal();
        const std::int64_t first = chunk * at_once;
        work(share, first, std::min(at_once, examples - first));
      }
    });
  }

  void fill(ExampleResults& results, std::int64_t first, const torch::Tensor& logits_BTC,
            const torch::Tensor& labels_BT) const {
    const torch::Tensor counted_BT = labels_BT != tasks::kNotCounted;
    copy_to(results.loss, first, position_losses(logits_BTC, labels_BT).to(torch::kDouble).sum(1));
    copy_to(results.counted, first, counted_BT.sum(1));
    copy_to(results.right, first, ((logits_BTC.argmax(-1) == labels_BT) & counted_BT).sum(1));
  }

  /// One pass over the model as it is, for what replacements need.
  void look() {
    const auto layers = static_cast<std::size_t>(n_layers());
    const std::int64_t length = task.shape().seq_len;
    const torch::Tensor visible_T = visible_TT.defined()
                                        ? visible_TT.sum(-1).to(torch::kDouble)
                                        : torch::full({length}, static_cast<double>(length), torch::kDouble);
    struct Sums {
      std::vector<torch::Tensor> heads_HTE, entropy_H;
    };
    std::vector<Sums> sums(static_cast<std::size_t>(replicas.size()),
                           {std::vector<torch::Tensor>(layers), std::vector<torch::Tensor>(layers)});
    const auto add = [](torch::Tensor& sum, const torch::Tensor& part) {
      sum = sum.defined() ? sum + part : part;
    };
    base = empty_results(n);
    in_chunks(n, [&](std::int64_t share, std::int64_t first, std::int64_t count) {
      const torch::NoGradGuard no_grad;
      Sums& mine = sums[static_cast<std::size_t>(share)];
      const BatchTensors batch = to_tensors(task.batch(tasks::Split::kTest, first, count), torch::kCPU);
      nn::HeadProbe probe;
      probe.edit_heads = [&](std::int64_t layer, const torch::Tensor& heads_BHTE) {
        add(mine.heads_HTE[static_cast<std::size_t>(layer)], heads_BHTE.to(torch::kDouble).sum(0));
        return heads_BHTE;
      };
      fill(base, first, forward(batch, probe), batch.labels_BT);
      for (std::size_t layer = 0; layer < layers; ++layer)
        add(mine.entropy_H[layer], entropy_sums(probe.patterns[layer], visible_T));
    });
    const double rows = static_cast<double>(n) * (visible_T >= 2.0).sum().item<double>();
    for (std::size_t layer = 0; layer < layers; ++layer) {
      torch::Tensor heads_HTE, entropy_H;
      for (const Sums& share : sums) {
        if (!share.heads_HTE[layer].defined()) continue;
        add(heads_HTE, share.heads_HTE[layer]);
        add(entropy_H, share.entropy_H[layer]);
      }
      mean_HTE.push_back((heads_HTE / static_cast<double>(n)).to(torch::kFloat32));
      for (std::int64_t head = 0; head < n_heads(); ++head)
        entropy.push_back(rows > 0.0 ? entropy_H[head].item<double>() / rows : 1.0);
    }
  }

  torch::Tensor forward(const BatchTensors& batch, nn::HeadProbe& probe) const {
    nn::Context context;
    context.probe = &probe;
    models::MiniTransformer shared = model;
    return shared->forward(batch.tokens_BT, context);
  }

  HeadKernel kernel_for(Replacement replacement, const HeadPlace& place) const {
    return replacement == Replacement::kUniform ? HeadKernel{} : kernels.at(place);
  }

  /// What a pass is told so that the heads are replaced in it.
  nn::HeadProbe probe_for(Replacement replacement, const std::vector<HeadPlace>& heads,
                          const torch::Tensor& tokens_BT) const {
    nn::HeadProbe probe;
    probe.keep = nn::Keep::kOutput;
    if (replacement == Replacement::kRemoved) {
      probe.gates_LH = torch::ones({n_layers(), n_heads()});
      for (const HeadPlace& place : heads) probe.gates_LH[place.layer][place.head] = 0.0;
      return probe;
    }
    const auto edit = [this, replacement, heads, tokens_BT](std::int64_t layer, const torch::Tensor& given) {
      torch::Tensor edited = given;
      for (const HeadPlace& place : heads) {
        if (place.layer != layer) continue;
        if (edited.is_same(given)) edited = given.clone();
        torch::Tensor head = edited.select(1, place.head);
        if (replacement == Replacement::kMean) {
          head.copy_(mean_HTE[static_cast<std::size_t>(layer)][place.head].expand_as(head));
        } else {
          const std::int64_t length = given.size(-1);
          head.copy_(attention::head_kernel_weights(kernel_for(replacement, place),
                                                    {visible_TT, tokens_BT, length, length}, given.options())
                         .expand_as(head));
        }
      }
      return edited;
    };
    (replacement == Replacement::kMean ? probe.edit_heads : probe.edit_pattern) = edit;
    return probe;
  }

  const tasks::Task& task;
  std::int64_t n;
  models::MiniTransformer model;
  mutable Replicas replicas;
  torch::Tensor visible_TT;  ///< undefined: every key
  ExampleResults base;
  std::vector<double> entropy;
  std::vector<torch::Tensor> mean_HTE;  ///< a layer each
  std::map<HeadPlace, HeadKernel> kernels;
};

Interventions::Interventions(const RunConfig& config, const tasks::Task& task, std::string_view model,
                             std::int64_t n) {
  if (n < 1) throw ConfigError("ablate", fmt::format("{} examples, expected at least 1", n));
  state_ = std::make_unique<State>(config, task, model, n);
}

Interventions::~Interventions() = default;

const ExampleResults& Interventions::base() const { return state_->base; }

const std::vector<double>& Interventions::entropy_normalised() const { return state_->entropy; }

std::string Interventions::model() const { return to_safetensors(*state_->model); }

void Interventions::set_kernel(const HeadPlace& place, const HeadKernel& kernel) {
  state_->check(place);
  state_->kernels[place] = kernel;
}

ExampleResults Interventions::measure(Replacement replacement, const std::vector<HeadPlace>& heads,
                                      std::int64_t n) const {
  for (const HeadPlace& place : heads) {
    state_->check(place);
    if (replacement == Replacement::kKernel && !state_->kernels.contains(place))
      throw ConfigError("ablate", fmt::format("no kernel for L{}H{}, expected one", place.layer, place.head));
  }
  const std::int64_t examples = std::min(n, state_->n);
  ExampleResults results = empty_results(examples);
  state_->in_chunks(examples, [&](std::int64_t, std::int64_t first, std::int64_t count) {
    const torch::NoGradGuard no_grad;
    const BatchTensors batch = to_tensors(state_->task.batch(tasks::Split::kTest, first, count), torch::kCPU);
    nn::HeadProbe probe = state_->probe_for(replacement, heads, batch.tokens_BT);
    state_->fill(results, first, state_->forward(batch, probe), batch.labels_BT);
  });
  return results;
}

std::vector<double> Interventions::importance() const {
  const std::int64_t layers = state_->n_layers(), heads = state_->n_heads();
  std::vector<torch::Tensor> sums_LH(static_cast<std::size_t>(state_->replicas.size()),
                                     torch::zeros({layers, heads}, torch::kDouble));
  state_->in_chunks(state_->n, [&](std::int64_t share, std::int64_t first, std::int64_t count) {
    const torch::AutoGradMode with_gradient(true);
    const BatchTensors batch = to_tensors(state_->task.batch(tasks::Split::kTest, first, count), torch::kCPU);
    // Each example has gates of its own: the absolute value is taken before the mean.
    const torch::Tensor gates_LBH = torch::ones({layers, count, heads}).requires_grad_();
    nn::HeadProbe probe;
    probe.keep = nn::Keep::kOutput;
    probe.edit_heads = [&](std::int64_t layer, const torch::Tensor& heads_BHTE) {
      return heads_BHTE * gates_LBH[layer].view({count, heads, 1, 1});
    };
    const torch::Tensor loss_BT = position_losses(state_->forward(batch, probe), batch.labels_BT);
    const torch::Tensor counted_B = (batch.labels_BT != tasks::kNotCounted).sum(1).clamp_min(1);
    const torch::Tensor gradient_LBH =
        torch::autograd::grad({(loss_BT.sum(1) / counted_B).sum()}, {gates_LBH})[0];
    torch::Tensor& sum_LH = sums_LH[static_cast<std::size_t>(share)];
    sum_LH = sum_LH + gradient_LBH.to(torch::kDouble).abs().sum(1);
  });
  const torch::Tensor importance_LH = torch::stack(sums_LH).sum(0);
  const torch::Tensor norm_L1 = importance_LH.norm(2, torch::IntArrayRef({1}), /*keepdim=*/true);
  const torch::Tensor normed_LH = (importance_LH / norm_L1.masked_fill(norm_L1 == 0.0, 1.0)).contiguous();
  return {normed_LH.data_ptr<double>(), normed_LH.data_ptr<double>() + normed_LH.numel()};
}

}  // namespace headtorch::train
